import ArgumentParser
import CallCore
import CallPorts
import CallTrace
import CallWire
import Threads

/// Lists the calls that are ringing or answered at the moment.
struct CallsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calls",
        abstract: "List the live calls with their users, states and devices, or the ended calls with their outcomes.",
        usage: "ringline calls [--ended] [--user <user>] [--watch] [<options>]",
        discussion: """
            Reads the data folder or the database, as of the last commit, whether its server runs or not. For a server \
            that was killed it lists the calls that the next start resumes. With --ended it lists the calls that are over \
            and still in the history. 'ringline explain CALLID' tells more about one call.

            Examples:
              ringline calls --data /var/lib/ringline
              ringline calls --store postgres://ringline@db.internal/ringline
              ringline calls --user 10 --watch
              ringline calls --ended --user 10 --limit 20
            """
    )

    @OptionGroup var records: RecordsOptions
    @Flag(help: "List the calls that have ended, each with its outcome.") var ended = false
    @Option(help: "List only the calls of this user.") var user: String?
    @Option(help: ArgumentHelp("The most calls to list, newest first.", valueName: "count")) var limit = 1_000
    @Flag(help: "Show the list again when it changes, until Ctrl-C.") var watch = false

    func run() throws {
        do throws(UsageError) {
            let user = try user.map { name throws(UsageError) in try UserID(userOption: name) }
            guard (1...1_000_000).contains(limit) else {
                throw UsageError("--limit must be a number from 1 to 1000000")
            }
            let place = try records.place()
            let reader = try place.open().reader
            let first = try list(user, from: reader)
            place.leave(CommandTrace("calls", user))
            guard watch else { return print(first, terminator: "") }
            let repetition = Repetition()
            var text = ChangingText(keepsBeginning: true)
            text.show(first)
            try RinglineCommand.flushOutput()
            while repetition.wait(milliseconds: 1_000) {
                text.show(try list(user, from: reader))
                try RinglineCommand.flushOutput()
            }
        } catch { throw error.shown() }
    }

    private func list(_ user: UserID?, from reader: any StoreReader) throws(UsageError) -> String {
        let now = Moment(milliseconds: SystemClock.wall())
        let text: String
        do throws(StoreFailure) {
            if ended {
                let calls = try Self.endedCalls(of: user, limit: limit, in: reader)
                text = calls.isEmpty ? "No ended calls.\n" : try Self.table(ofEnded: calls, in: reader, at: now)
            } else {
                let calls = try reader.liveCalls(limit: user == nil ? limit : .max).filter { call in
                    user.map { call.caller == $0 || call.callee == $0 } ?? true
                }
                text = calls.isEmpty ? "No live calls.\n" : try Self.table(calls.prefix(limit), in: reader, at: now)
            }
            UsageError.show(reader.takeDamages())
        } catch { throw UsageError(error.message) }
        return text
    }

    private static func endedCalls(
        of user: UserID?,
        limit: Int,
        in reader: any StoreReader
    ) throws(StoreFailure) -> [CallRecord] {
        guard let user else { return try reader.endedCalls(limit: limit) }
        return try reader.history(of: user, limit: limit) { $0.endedAt != nil }
    }

    private static func table(
        ofEnded calls: [CallRecord],
        in reader: any StoreReader,
        at now: Moment
    ) throws(StoreFailure) -> String {
        var rows: [[String]] = []
        var names = DeviceNames(reader)
        for call in calls {
            let end = call.endedAt ?? now
            let explanation = Explanation(
                record: call,
                events: try reader.timeline(of: call.number),
                log: try reader.log(of: call.number),
                devices: try names.devices(of: call.callee),
                at: now
            )
            rows.append([
                call.id.text, "\(call.epoch)", call.caller.text, call.callee.text, call.hasVideo ? "video" : "audio",
                Timestamp.text(call.startedAt), span(from: call.startedAt, to: call.answeredAt ?? end),
                call.answeredAt.map { span(from: $0, to: end) } ?? "-", explanation.outcome,
            ])
        }
        return TextTable(["CALL", "EPOCH", "FROM", "TO", "MEDIA", "STARTED", "RANG", "TALKED", "OUTCOME"], rows).text
    }

    private static func table(
        _ calls: some Sequence<CallRecord>,
        in reader: any StoreReader,
        at now: Moment
    ) throws(StoreFailure) -> String {
        var rows: [[String]] = []
        var names = DeviceNames(reader)
        for call in calls {
            let (state, since) = state(of: call)
            var devices: [String] = []
            for leg in call.legs {
                let name = try names.name(of: leg.device.id, of: leg.side == .caller ? call.caller : call.callee)
                // The caller's leg has the phase `answered` from the start. The table shows `caller` instead, because
                // `answered` would be taken for the callee's answer.
                let isCaller = leg.side == .caller && leg.phase == .answered
                devices.append("\(name) (\(isCaller ? "caller" : leg.phase.rawValue))")
            }
            rows.append([
                call.id.text, "\(call.epoch)", call.caller.text, call.callee.text, call.hasVideo ? "video" : "audio",
                state, span(from: since, to: now), devices.joined(separator: ", "),
            ])
        }
        return TextTable(["CALL", "EPOCH", "FROM", "TO", "MEDIA", "STATE", "FOR", "DEVICES"], rows).text
    }

    private static func state(of call: CallRecord) -> (String, Moment) {
        if let at = call.activeAt { return ("active", at) }
        if let at = call.answeredAt { return ("answered", at) }
        return (call.hidden == nil ? "ringing" : "ringing (\(call.hidden?.rawValue ?? ""))", call.startedAt)
    }

    /// Returns a duration in its two largest units: `12s`, `3m 05s`, `2h 10m`, `4d 1h`.
    static func span(from start: Moment, to end: Moment) -> String {
        let seconds = max(0, (end - start).milliseconds / 1_000)
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3_600: return "\(seconds / 60)m \(seconds % 60 < 10 ? "0" : "")\(seconds % 60)s"
        case ..<86_400: return "\(seconds / 3_600)h \(seconds / 60 % 60)m"
        default: return "\(seconds / 86_400)d \(seconds / 3_600 % 24)h"
        }
    }
}

extension UserID {
    /// Parses the value of `--user`.
    init(userOption text: String) throws(UsageError) {
        guard let id = UserID(text) else {
            throw UsageError("--user must be \(CallCore.Limits.identifierForm)")
        }
        self = id
    }
}
