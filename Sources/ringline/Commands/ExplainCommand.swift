import ArgumentParser
import CallCore
import CallPorts
import CallTrace
import Threads

/// Explains why a call rang or did not, from the records of a running or stopped server.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain why a call rang or did not: a diagram of its events, and a verdict.",
        discussion: """
            Reads the data folder or the database, whether its server runs or not. Shows no SDP and no addresses. With a \
            database, the last line says which server owns it.

            Examples:
              ringline explain 11-10 --user 11 --epoch 2 --data /var/lib/ringline
              ringline explain 11-10 --store postgres://ringline@db.internal/ringline
            """
    )

    @Argument(help: "The callId of the call.") var callId: String
    @OptionGroup var records: RecordsOptions
    @Option(help: "A user of the call, if several calls have this callId; give it twice to name both users.")
    var user: [String] = []
    @Option(help: "The epoch of the call, if its two users have used the callId more than once; default: the newest.")
    var epoch: UInt32?

    func run() throws {
        do throws(UsageError) { print(try explain(), terminator: "") } catch { throw error.shown() }
    }

    private func explain() throws(UsageError) -> String {
        guard let id = CallID(callId) else {
            throw UsageError("\(callId) is not a callId: it must be \(CallCore.Limits.identifierForm)")
        }
        guard user.count <= 2 else { throw UsageError("--user may be given twice: a call has two users") }
        var users: [UserID] = []
        for name in user {
            guard let id = UserID(name) else {
                throw UsageError("--user must be \(CallCore.Limits.identifierForm)")
            }
            users.append(id)
        }
        let place = try self.records.place()
        let records = try place.open()
        let reader = records.reader
        do throws(StoreFailure) {
            let namesakes = try reader.calls(CallSelector(id, of: users), limit: CallsUnderSameID.limit)
            // The call of the given epoch needs a query of its own: `namesakes` has only the newest calls of the
            // callId, and this call may be older.
            guard let record = try reader.calls(CallSelector(id, of: users, epoch: epoch), limit: 1).first else {
                UsageError.show(reader.takeDamages())
                throw StoreFailure("No call \(callId)\(restriction) in \(place.shown).")
            }
            place.leave(CommandTrace("explain"))
            defer { UsageError.show(reader.takeDamages()) }
            let origin = try records.origin()
            return Explanation(
                record: record,
                events: try reader.timeline(of: record.number),
                log: try reader.log(of: record.number),
                devices: try reader.devices(of: record.callee),
                recordsFrom: origin.source,
                at: Moment(milliseconds: SystemClock.wall())
            ).text + CallsUnderSameID(of: record, among: namesakes).text + (origin.line ?? "")
        } catch {
            throw UsageError(error.message)
        }
    }

    /// The restrictions of the search besides the callId, for the error message.
    private var restriction: String {
        let whose = user.isEmpty ? "" : " of " + user.joined(separator: " and ")
        return whose + (epoch.map { ", epoch \($0)," } ?? "")
    }
}
