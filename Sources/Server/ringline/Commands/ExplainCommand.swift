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
        usage: """
            ringline explain <call-id> [--user <user> ...] [<options>]
            ringline explain --last | --user <user> [--follow] [<options>]
            """,
        discussion: """
            Reads the data folder or the database, whether its server runs or not. Shows no SDP and no addresses. With a \
            database, the last line says which server owns it.

            Examples:
              ringline explain --last
              ringline explain --user 10 --follow
              ringline explain 11-10 --user 11 --epoch 2 --data /var/lib/ringline
              ringline explain 11-10 --store postgres://ringline@db.internal/ringline
            """
    )

    @Argument(help: "The callId of the call.") var callId: String?
    @Flag(help: "Explain the newest call.") var last = false
    @Option(
        help: ArgumentHelp(
            "Without a callId: explain this user's newest call. With one: a user of the call, if several calls have it. "
                + "Give it twice to name both users.",
            valueName: "user"
        )
    )
    var user: [String] = []
    @Option(
        help: ArgumentHelp(
            "The epoch of the call, if its two users have used the callId more than once; default: the newest.",
            valueName: "number"
        )
    )
    var epoch: UInt32?
    @Flag(help: "Show a call while it goes on, to its end; without a callId, wait for the next one if none goes on.")
    var follow = false
    @OptionGroup var records: RecordsOptions

    func run() throws {
        do throws(UsageError) {
            let choice = try choice()
            let place = try records.place()
            let source = try CallSource(place.open(), choice)
            place.leave(CommandTrace("explain", callId == nil ? choice.users.first : nil))
            if follow { return try CallFollower(source).run() }
            let found = try source.find()
            source.showDamages()
            guard let found else { throw UsageError("No \(choice.shown) in \(place.shown).") }
            print(try source.explanation(of: found).text + source.rest(of: found), terminator: "")
            source.showDamages()
        } catch { throw error.shown() }
    }

    private func choice() throws(UsageError) -> CallSource.Choice {
        guard user.count <= 2 else { throw UsageError("--user may be given twice: a call has two users") }
        var users: [UserID] = []
        for name in user { users.append(try UserID(userOption: name)) }
        guard let callId else {
            guard last || follow || !users.isEmpty else {
                throw UsageError("name a callId, --user or --last; 'ringline calls --ended' lists the calls")
            }
            guard epoch == nil else { throw UsageError("--epoch belongs to a callId") }
            return CallSource.Choice(id: nil, users: users, epoch: nil)
        }
        guard let id = CallID(callId) else {
            throw UsageError("\(callId) is not a callId: it must be \(CallCore.Limits.identifierForm)")
        }
        guard !last else { throw UsageError("--last and a callId cannot be given together") }
        return CallSource.Choice(id: id, users: users, epoch: epoch)
    }
}

/// The records of a server, and which of its calls to explain.
struct CallSource {
    /// Which call is meant; without a callId, the newest.
    struct Choice {
        let id: CallID?
        let users: [UserID]
        let epoch: UInt32?

        /// The choice in words, for a message that there is no such call.
        var shown: String {
            let whose = users.isEmpty ? "" : " of " + users.map(\.text).joined(separator: " and ")
            return "call" + (id.map { " \($0.text)" } ?? "") + whose + (epoch.map { ", epoch \($0)," } ?? "")
        }
    }

    let choice: Choice
    private let records: Records
    private var reader: any StoreReader { records.reader }

    init(_ records: Records, _ choice: Choice) {
        self.records = records
        self.choice = choice
    }

    /// Returns the call that is meant; `nil` = there is none.
    func find() throws(UsageError) -> CallRecord? {
        do throws(StoreFailure) {
            if let id = choice.id {
                return try reader.calls(CallSelector(id, of: choice.users, epoch: choice.epoch), limit: 1).first
            }
            guard let user = choice.users.first else {
                let newest = try reader.liveCalls(limit: 1) + reader.endedCalls(limit: 1)
                return newest.max { $0.number.rawValue < $1.number.rawValue }
            }
            return try reader.history(of: user, limit: 1) { call in
                choice.users.allSatisfy { call.caller == $0 || call.callee == $0 }
            }.first
        } catch { throw UsageError(error.message) }
    }

    /// Returns the newest call of the users, or of all, that goes on; `nil` = there is none.
    func findLive() throws(UsageError) -> CallRecord? {
        do throws(StoreFailure) {
            return try reader.liveCalls(limit: choice.users.isEmpty ? 1 : .max).first { call in
                choice.users.allSatisfy { call.caller == $0 || call.callee == $0 }
            }
        } catch { throw UsageError(error.message) }
    }

    /// Returns a call as it is now; `nil` = it is no longer stored.
    func reread(_ call: CallRecord) throws(UsageError) -> CallRecord? {
        do throws(StoreFailure) {
            let choice = CallSelector(call.id, of: [call.caller, call.callee], epoch: call.epoch)
            return try reader.calls(choice, limit: 1).first
        } catch { throw UsageError(error.message) }
    }

    func explanation(of record: CallRecord) throws(UsageError) -> Explanation {
        do throws(StoreFailure) {
            return Explanation(
                record: record,
                events: try reader.timeline(of: record.number),
                log: try reader.log(of: record.number),
                devices: try reader.devices(of: record.callee),
                recordsFrom: try records.origin().source,
                at: Moment(milliseconds: SystemClock.wall())
            )
        } catch { throw UsageError(error.message) }
    }

    /// Returns what follows an explanation: the other calls with the callId, and who owns a database.
    func rest(of record: CallRecord) throws(UsageError) -> String {
        do throws(StoreFailure) {
            let origin = try records.origin().line ?? ""
            guard let id = choice.id else { return origin }
            let namesakes = try reader.calls(CallSelector(id, of: choice.users), limit: CallsUnderSameID.limit)
            return CallsUnderSameID(of: record, among: namesakes).text + origin
        } catch { throw UsageError(error.message) }
    }

    /// Reports the invalid values that were read.
    func showDamages() { UsageError.show(reader.takeDamages()) }
}

/// Shows a call while it goes on: its ladder grows, and the verdict follows at its end.
struct CallFollower {
    private let source: CallSource
    private static let pauseMilliseconds = 200
    /// How long after the end of a call to wait for the responses to its pushes.
    private static let afterwards = Moment.Duration.seconds(1)

    init(_ source: CallSource) { self.source = source }

    /// Runs until the call has ended, or until the user presses Ctrl-C.
    func run() throws(UsageError) {
        let repetition = Repetition()
        guard var call = try next(repetition) else { return }
        let ladder = GrowingLadder()
        var end: ContinuousClock.Instant?
        repeat {
            if let newer = try source.reread(call) { call = newer }
            ladder.show(try source.explanation(of: call))
            try RinglineCommand.flushOutput()
            if call.endedAt != nil { end = end ?? .now }
        } while !isOver(call, seen: end) && repetition.wait(milliseconds: Self.pauseMilliseconds)
        let verdict = try source.explanation(of: call).parts.verdict
        let rest = try source.rest(of: call)
        print("\n\(verdict)\n\(rest)", terminator: "")
        source.showDamages()
    }

    /// Whether a call has ended, and the responses to its pushes have had their time.
    ///
    /// The server's clock may be ahead of this command's, by hours. So the time since the end was seen counts too.
    private func isOver(_ call: CallRecord, seen: ContinuousClock.Instant?) -> Bool {
        guard let end = call.endedAt, let seen else { return false }
        return Moment(milliseconds: SystemClock.wall()) >= end + Self.afterwards
            || ContinuousClock.now >= seen + .milliseconds(Self.afterwards.milliseconds)
    }

    /// Returns the call to follow; `nil` = the user has pressed Ctrl-C while there was none.
    ///
    /// The newest call may be over. Without a callId, an older one that goes on is meant then, or else the next one.
    private func next(_ repetition: Repetition) throws(UsageError) -> CallRecord? {
        let before = try source.find()
        if source.choice.id != nil {
            guard let before else { throw UsageError("No \(source.choice.shown).") }
            return before
        }
        if let live = try source.findLive() { return live }
        UsageError("waiting for the next \(source.choice.shown); stop with Ctrl-C").show()
        while repetition.wait(milliseconds: Self.pauseMilliseconds) {
            if let call = try source.find(), before.map({ call.number > $0.number }) ?? true { return call }
        }
        return nil
    }
}
