import ArgumentParser
import CallCore
import CallPorts
import CallWire
import Glibc
import SQLiteStore
import Threads

/// Puts a backup into the data folder of a stopped server.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore a backup into the data folder of a stopped server.",
        discussion: """
            The backup is checked and copied; an older ringline may have made it. The present database is kept beside it \
            as replaced-TIME.sqlite, which can be read with --data, or deleted. If run as root, the files get the owner \
            of the folder.

            Example:
              ringline restore /backup/ringline-2026-11-21.sqlite --data /var/lib/ringline
            """
    )

    @Argument(help: "A file that 'ringline backup' has made.") var file: String
    @Option(help: "The server's data folder (default: the variable RINGLINE_DATA, else ./data).") var data: String?

    func run() throws {
        do throws(UsageError) { try restore(into: try DataFolderSetup.holdingDatabase(data)) } catch {
            throw error.shown()
        }
    }

    private func restore(into data: String) throws(UsageError) {
        guard data != ":memory:" else { throw UsageError("--data: :memory: keeps nothing; name a folder") }
        let now = Timestamp.text(Moment(milliseconds: SystemClock.wall()))
        // Colons in file names are a problem for `scp` and other tools.
        let name = "replaced-\(String(now.map { $0 == ":" ? "-" : $0 })).sqlite"
        do throws(StoreFailure) {
            let wasThere = try SQLiteCallStore.restore(file, into: data, keeping: name)
            print("\(data)/ringline.sqlite: restored from \(file)")
            CommandTrace("restore").write(in: data, isForTheNextStart: true)
            if wasThere { print("\(data)/\(name): the previous database") }
            if let note = DatabaseNote(in: data) {
                print("\(note.text); only a start without --store uses the restored ones")
            }
            if Self.belongsToRoot(data) {
                print("\(data): belongs to root; if the server runs as another user, run: chown -R USER \(data)")
            }
        } catch { throw UsageError(error.message) }
    }

    /// Whether this process runs as root and has given the files to root, because the folder belongs to root.
    private static func belongsToRoot(_ data: String) -> Bool {
        var status = stat()
        return geteuid() == 0 && stat(data, &status) == 0 && status.st_uid == 0
    }
}
