import CallCore
import CallPorts
import CallWire
import JSON
import Switchboard

/// The questions of the present run of the server, as seen from outside, and what the answers to them demand.
struct DecisionWatch {
    /// A question, or what came of it.
    struct Question {
        let id: DecisionID
        let caller: UserID
        let callee: UserID
        let callID: CallID
        let deadline: Moment
        /// Whether the caller has ended the call while the question was open.
        var isWithdrawn = false
        /// The outcome; `nil` = the question is open.
        var meaning: DecisionMeaning?

        func isOf(_ call: CallName, from caller: UserID) -> Bool {
            self.caller == caller && callID == call.id && callee == call.pair.other(than: caller)
        }
    }

    static let openPerCaller = 4
    static let openInAll = 256
    /// The failures in a row, and the callers that they hit, after which a server may stop asking.
    static let failures = 20
    static let callersHit = 5

    let policy: DecisionPolicy
    private(set) var open: [DecisionID: Question] = [:]
    /// The questions that are settled, the newest last.
    private(set) var settled: [Question] = []
    private var failureCount = 0
    private var callersHit: Set<UserID> = []
    /// Until when the server may have a reason to ask nothing; the present if it has one now.
    private var mayRestUntil: Int64 = .min
    /// The number of calls and refusals by outcome.
    var outcomes: [String: Int] = [:]

    init(_ policy: DecisionPolicy) { self.policy = policy }

    /// A run of the server ends, or has begun: it knows of no question.
    mutating func restarted() { self = DecisionWatch(policy, outcomes) }

    private init(_ policy: DecisionPolicy, _ outcomes: [String: Int]) {
        self.policy = policy
        self.outcomes = outcomes
    }

    /// Reads a question, and returns what is wrong with it and with the server that asks it.
    mutating func asked(_ request: DecisionRequest, at moment: Moment) -> (invariant: String, message: String)? {
        let shown = "question \(request.id.rawValue)"
        guard let object = MessageReader.object(request.body), let caller = object.text(of: Key("caller")),
            let to = object.members.first(where: { object.name(of: $0) == "to" }),
            let id = object.text(of: .callId).flatMap({ CallID($0) }), let caller = UserID(caller),
            case let array = String(decoding: object.bytes[to.value], as: UTF8.self),
            array.hasPrefix("[\""), array.hasSuffix("\"]"), let callee = UserID(String(array.dropFirst(2).dropLast(2)))
        else { return ("I32", "\(shown) cannot be read") }
        let names = object.members.compactMap { object.name(of: $0) }
        guard names == ["caller", "to", "callId", "hasVideo", "token"] else {
            return ("I29", "\(shown) has the members \(names)")
        }
        let deadline = moment + policy.timeout
        let question = Question(id: request.id, caller: caller, callee: callee, callID: id, deadline: deadline)
        if request.timeout != policy.requestTimeout { return ("I32", "\(shown) has another time than the operator's") }
        if open[request.id] != nil { return ("I32", "\(shown) is asked a second time") }
        for other in open.values where !other.isWithdrawn && other.callID == id && other.caller == caller {
            if other.callee == callee { return ("I32", "\(shown) is about an offer that is being decided") }
        }
        open[request.id] = question
        let own = open.values.lazy.filter { $0.caller == caller }.count
        if own > Self.openPerCaller { return ("I32", "\(caller.text) has \(own) open questions") }
        if open.count > Self.openInAll { return ("I32", "\(open.count) questions are open") }
        return nil
    }

    /// Notes an answer that the server is given; a second one, or one that is late, means nothing.
    mutating func answered(_ id: DecisionID, _ meaning: DecisionMeaning, at now: Int64) {
        guard var question = open.removeValue(forKey: id) else { return }
        question.meaning = meaning
        settle(question, at: now)
    }

    /// Notes that the server looks at its deadlines.
    mutating func deadlineReached(_ moment: Moment, at now: Int64) {
        for (id, question) in open.sorted(by: { $0.key < $1.key }) where question.deadline <= moment {
            answered(id, .late, at: now)
        }
    }

    /// Notes that the server shuts down, and decides no offer any more.
    mutating func drained() { open = [:] }

    private mutating func settle(_ question: Question, at now: Int64) {
        switch question.meaning {
        case .allowed, .hidden, .refused:
            if hasFailedMany { mayRestUntil = now }
            failureCount = 0
            callersHit = []
        case .late, .unreachable:
            failureCount += 1
            callersHit.insert(question.caller)
        case .malformed, nil: break
        }
        settled.append(question)
        if settled.count > 400 { settled.removeFirst(100) }
    }

    private var hasFailedMany: Bool { failureCount >= Self.failures && callersHit.count >= Self.callersHit }

    /// Whether the server may leave out a question now, because the backend has failed.
    func mayRest(at now: Int64) -> Bool {
        hasFailedMany || mayRestUntil != .min && now <= mayRestUntil + 5_000
    }

    /// Whether the server has ever had a reason to leave out a question.
    var hasRested: Bool { hasFailedMany || mayRestUntil != .min }

    /// Notes that a caller ends a call; `callee` is nil if the end names nobody.
    mutating func ends(_ id: CallID, of caller: UserID, with callee: UserID?) {
        let fitting = open.filter {
            let one = $0.value
            guard !one.isWithdrawn, one.caller == caller, one.callID == id else { return false }
            return callee == nil || callee == one.callee
        }
        if let newest = fitting.keys.max() { open[newest]?.isWithdrawn = true }
    }

    /// Whether an offer of a call is being decided; `newest`: only a question older than this one counts.
    ///
    /// A turn that begins a call may ask about the next call of the same name before the commit is seen.
    func isOpen(_ call: CallName, from caller: UserID, before newest: DecisionID? = nil) -> Bool {
        open.values.contains { question in
            !question.isWithdrawn && question.isOf(call, from: caller) && newest.map { question.id < $0 } ?? true
        }
    }

    /// Returns the question about an offer of a caller that is being decided.
    func openQuestion(about id: CallID, from caller: UserID) -> DecisionID? {
        open.values.first { !$0.isWithdrawn && $0.caller == caller && $0.callID == id }?.id
    }

    /// Returns how many questions of a caller are open.
    func openCount(of caller: UserID) -> Int { open.values.lazy.filter { $0.caller == caller }.count }

    /// Returns the newest settled question about a call with an outcome.
    func newest(about call: CallName, from caller: UserID, _ outcome: DecisionOutcome) -> Question? {
        settled.last { $0.isOf(call, from: caller) && $0.meaning?.outcome == outcome }
    }

    /// Returns the settled questions of a caller under a callId, the newest first; `nil` = under any.
    func results(of caller: UserID, _ id: CallID?) -> [Question] {
        settled.reversed().filter { $0.caller == caller && (id == nil || $0.callID == id) }
    }
}
