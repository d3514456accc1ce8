import ArgumentParser
import CallPorts
import Glibc
import SQLiteStore

/// Copies the database of a running or stopped server.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the database into a file, also while the server runs.",
        discussion: """
            The copy shows one moment. It appears under its name only when it is complete, checked and on the disk; \
            an existing file is not overwritten. It can be read by 'ringline explain', 'calls' and 'devices' with \
            --data FILE. To restore it, stop the server and run 'ringline restore'. The other files of a data folder, \
            server-key, vapid-key.pem and development-jwt-secret, can be copied at any time.

            Examples:
              ringline backup /backup/ringline-$(date +%F).sqlite --data /var/lib/ringline
              ringline explain --last --data /backup/ringline-2026-11-21.sqlite
            """
    )

    @Argument(help: "The file to create.") var file: String
    @Option(help: "The server's data folder (default: the variable RINGLINE_DATA, else ./data).") var data: String?

    func run() throws {
        do throws(UsageError) {
            let data = try DataFolderSetup.holdingDatabase(data)
            if let note = DatabaseNote(in: data) { throw UsageError("\(note.text): back it up with pg_dump") }
            do throws(StoreFailure) { try backUp(data) } catch { throw UsageError(error.message) }
        } catch {
            throw error.shown()
        }
    }

    private func backUp(_ data: String) throws(StoreFailure) {
        try SQLiteCallStore.reader(of: data).backUp(to: file)
        CommandTrace("backup").write(in: data)
        var status = stat()
        stat(file, &status)
        print("\(file): \(status.st_size) bytes, checked")
    }
}
