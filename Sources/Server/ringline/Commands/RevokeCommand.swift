import ArgumentParser
import CallCore
import CallPorts
import CallTrace
import Glibc
import SQLiteStore
import Switchboard
import Threads

/// Logs a user out everywhere.
struct RevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Log a user out everywhere: refuse all tokens issued so far.",
        usage: "ringline revoke --user <user> [<options>]",
        discussion: """
            Closes the user's connections (4401). From then on the server refuses the user's tokens with an iat up to this \
            second, all tokens without an iat, and the capabilities of earlier pushes. The user's devices are forgotten until \
            they register again. This holds over restarts. If a server runs, the command waits until it has done so; \
            otherwise the next start does it. POST /api/logout-all has the same effect.

            The command goes through the data folder, also to a server with --store; --store tells whether that server runs.

            Example: ringline revoke --user 10 --data /var/lib/ringline
            """
    )

    @Option(help: "The user to log out.") var user: String
    @Option(help: "The server's data folder.") var data = DataFolderSetup.standard
    @OptionGroup var database: DatabaseOptions

    func run() throws {
        do throws(UsageError) { try revoke() } catch { throw error.shown() }
    }

    private func revoke() throws(UsageError) {
        let user = try UserID(userOption: user)
        let source = database.source()
        let records: Records?
        if let settings = try source.database() {
            let file = try source[\.storePasswordFile]
            records = try RecordsPlace.database(settings, passwordFile: file).open()
        } else if DatabaseNote(in: data) != nil {
            // The command goes through the folder, whose lock says whether the server runs.
            records = nil
        } else {
            records = try RecordsPlace.folder(data).open()
        }
        let file = CommandFile(.revoke(user, before: Moment(milliseconds: SystemClock.wall())))
        guard try file.leave(in: data, isServed: { isServed(records) }) else {
            return print(
                "no server runs on \(data): \(user.text) will be logged out by its next start, before it serves any client"
            )
        }
        print("\(user.text) is logged out everywhere")
    }

    /// Whether a server is running that will look for commands.
    ///
    /// A stalled server keeps its folder locked, although its lease in a database runs out.
    private func isServed(_ records: Records?) -> Bool {
        guard !SQLiteCallStore.isHeld(folder: data) else { return true }
        guard let records else { return false }
        do throws(StoreFailure) { return try records.origin().source == .server } catch {
            // A database that cannot be reached at the moment says nothing about the server.
            return true
        }
    }
}
