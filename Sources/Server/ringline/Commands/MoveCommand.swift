import ArgumentParser
import CallCore
import CallPorts
import FoundationEssentials
import Identity
import Postgres
import PostgresStore
import SQLiteStore
import Threads

/// Brings the contents of a data folder into a PostgreSQL database.
struct MoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Bring the calls and devices of a stopped server from its data folder into a PostgreSQL database.",
        usage: "ringline move --from <folder> --store <URL> [<options>]",
        discussion: """
            Brings in devices, blocks, do-not-disturb, revocations, and calls with their logs and timelines: all of it or \
            nothing. Calls that go on are resumed by the next start. Refuses a folder whose server runs, and a database \
            that is not empty. The folder is not changed: it still has the server's keys, and the old database, which is \
            not used any more when the server is started with --store.

            Example:
              ringline move --from /var/lib/ringline \\
                  --store postgres://ringline@db.internal/ringline
            """
    )

    @Option(help: "The data folder of the stopped server.") var from: String
    @OptionGroup var database: DatabaseOptions

    func run() throws {
        do throws(UsageError) { print(try move(), terminator: "") } catch { throw error.shown() }
    }

    private func move() throws(UsageError) -> String {
        let source = database.source()
        guard let settings = try source.database() else { throw UsageError("--store is missing: name the database") }
        let options = try StoreOptions(settings, passwordFile: try source[\.storePasswordFile])
        if let note = DatabaseNote(in: from) {
            let file = "\(from)/\(DatabaseNote.fileName)"
            throw UsageError("\(note.text); to move the older ones in the folder all the same, delete \(file)")
        }
        var brought = Brought()
        do throws(StoreFailure) {
            let export = try DataFolderExport(folder: from, at: Moment(milliseconds: SystemClock.wall()))
            let move = DatabaseImport(
                uncleanStarts: export.uncleanStarts,
                lastCallNumber: export.lastCallNumber,
                incarnation: export.incarnation
            )
            try move.run(into: options) { take throws(StoreFailure) in
                try export.read { change throws(StoreFailure) in
                    brought.count(change)
                    try take(change)
                }
            }
            UsageError.show(export.takeDamages())
        } catch { throw UsageError(error.message) }
        return """
            Brought from \(from) into \(settings.shown): \(brought.text).
            From now on start the server with --store \(settings.shown). Without it, the server would go on with the old \
            calls and devices in \(from).
            \(remaining)
            """
    }

    /// The sentence about the files of the folder that the server needs with a database too.
    private var remaining: String {
        let keys = [ServerKeys.fileName, DevelopmentKey.fileName].filter {
            FileManager.default.fileExists(atPath: "\(from)/\($0)")
        }
        let commands = CommandFolder(folder: from).waitingCommands
        var text = "\(from) was not changed. Start the server with --data \(from) as before"
        if !keys.isEmpty { text += ", or copy \(keys.joined(separator: " and ")) into its new data folder" }
        text += ".\n"
        guard commands > 0 else { return text }
        let waiting =
            commands == 1 ? "1 command 'ringline revoke' waits" : "\(commands) commands 'ringline revoke' wait"
        return text + "\(waiting) in \(from) for the next start with that folder.\n"
    }

    /// The records that were brought in, by kind.
    struct Brought {
        private var liveCalls = 0
        private var endedCalls = 0
        private var devices = 0
        private var blocks = 0
        private var schedules = 0
        private var quietUsers = 0
        private var revocations = 0
        private var numbers = 0
        private var events = 0

        mutating func count(_ change: Change) {
            switch change {
            case .call(let call): if call.endedAt == nil { liveCalls += 1 } else { endedCalls += 1 }
            case .device: devices += 1
            case .blocked: blocks += 1
            case .schedule: schedules += 1
            case .doNotDisturb: quietUsers += 1
            case .revoked: revocations += 1
            case .numbers(let change): numbers += change.rows.count { $0.removedAt == nil }
            case .appEvent: events += 1
            case .entry, .event, .logForgotten, .historyForgotten, .deviceRemoved, .unblocked, .scheduleRemoved,
                .uncleanStartsForgotten, .removalsForgotten, .eventEndpoint, .eventEndpointRemoved, .eventHeld,
                .eventReleased, .eventsForgotten:
                break
            }
        }

        /// The numbers in words.
        var text: String {
            var parts = [
                (liveCalls, "live call"), (endedCalls, "ended call"), (devices, "device"), (blocks, "block"),
                (schedules, "schedule"), (quietUsers, "do-not-disturb"), (revocations, "revocation"),
            ]
            // Most servers have no call directory, and no events for a backend.
            if numbers > 0 { parts.append((numbers, "number")) }
            if events > 0 { parts.append((events, "event")) }
            return parts.map { "\($0) \($1)\($0 == 1 || $1 == "do-not-disturb" ? "" : "s")" }.joined(separator: ", ")
        }
    }
}
