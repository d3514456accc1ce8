import CallCore
import CallPorts
import CallWire

/// The questions to the app's backend that have no result yet, and the bounds on them.
///
/// An undecided offer is in no log: it waits as parked work (``PendingQueries``). A crash loses nothing, because the
/// sender repeats the offer.
struct CallDecisions {
    /// The questions without a result that one caller may have.
    static let openPerCaller = 4
    /// The questions without a result that all callers may have.
    static let openInAll = 256
    /// The signals that may wait for one decision.
    static let waitingPerQuestion = 256

    /// An offer that the backend is asked about.
    struct Question {
        let id: DecisionID
        let caller: UserID
        let callee: UserID
        let device: DeviceIdentity
        /// The callId of the call that the offer would begin.
        let callID: CallID
        /// Whether the server made the callId.
        let madeCallID: Bool
        /// The `id` that the device gave the offer.
        let offer: SignalID?
        /// The digest of the offer's description: no two calls have the same one.
        let digest: UInt64
        let askedAt: Moment
        let deadline: Moment
        /// Whether the caller has ended the call; the question counts until it has its result, as every other one.
        fileprivate(set) var isWithdrawn = false
        /// The signals that wait for the decision.
        fileprivate var waiting = 0
    }

    /// A decision, while the signals that have waited for it are handled.
    struct Decided {
        let question: Question
        let verdict: DecisionVerdict
        let waited: Moment.Duration
        /// Whether the refusal is stored already.
        var isRecorded = false
    }

    /// Whether a question may be asked.
    enum Admission: Equatable {
        case asks
        case failed(DecisionOutcome)
        case tooManyOfCaller
    }

    private var open: [DecisionID: Question] = [:]
    private var byCaller: [UserID: [DecisionID]] = [:]
    /// The questions whose offer was withdrawn, while signals still wait behind it.
    private var withdrawn: [Question] = []
    /// The offers that were withdrawn lately, oldest first, each with the moment.
    private var ended: [(question: Question, at: Moment)] = []
    private var lastID: UInt64 = 0
    private(set) var breaker = DecisionBreaker()
    /// The decision whose signals are being handled; `nil` = none.
    var current: Decided?
    /// The decisions about offers that wait for the store once more, oldest first, each with the moment of the decision.
    private var kept: [(decided: Decided, at: Moment)] = []
    /// How long a decision is kept for an offer that waits for the store.
    private static let keptFor = Moment.Duration.seconds(30)

    /// Whether any question has no result.
    var isAnyOpen: Bool { !open.isEmpty }

    /// Returns whether a caller's offer may be asked about.
    func admission(of caller: UserID, at now: Moment) -> Admission {
        if (byCaller[caller]?.count ?? 0) >= Self.openPerCaller { return .tooManyOfCaller }
        if open.count >= Self.openInAll { return .failed(.overloaded) }
        return breaker.admits(at: now) ? .asks : .failed(.unasked)
    }

    /// Records a question, and returns it.
    mutating func ask(
        _ caller: UserID,
        _ device: DeviceIdentity,
        _ callee: UserID,
        _ callID: CallID,
        isMade: Bool,
        offer: SignalID?,
        digest: UInt64,
        until deadline: Moment,
        at now: Moment
    ) -> Question {
        lastID += 1
        let question = Question(
            id: DecisionID(rawValue: lastID),
            caller: caller,
            callee: callee,
            device: device,
            callID: callID,
            madeCallID: isMade,
            offer: offer,
            digest: digest,
            askedAt: now,
            deadline: deadline
        )
        open[question.id] = question
        byCaller[caller, default: []].append(question.id)
        breaker.asked(question.id)
        return question
    }

    /// Returns an offer that the backend is not asked about, as a question.
    func unasked(
        _ source: Source,
        _ callee: UserID,
        _ callID: CallID,
        _ message: SignalMessage,
        at now: Moment
    ) -> Question {
        Question(
            id: DecisionID(rawValue: 0),
            caller: source.user,
            callee: callee,
            device: source.device,
            callID: callID,
            madeCallID: message.callID == nil,
            offer: message.id,
            digest: 0,
            askedAt: now,
            deadline: now
        )
    }

    /// Removes and returns a question; `nil` = it has its result already, or was late.
    mutating func close(_ id: DecisionID) -> Question? {
        guard let question = open.removeValue(forKey: id) else { return nil }
        byCaller[question.caller]?.removeAll { $0 == id }
        if byCaller[question.caller]?.isEmpty == true { byCaller[question.caller] = nil }
        return question
    }

    /// Returns the questions whose deadline has come, oldest first.
    func overdue(at now: Moment) -> [DecisionID] { open.values.filter { $0.deadline <= now }.map(\.id).sorted() }

    /// All questions, oldest first.
    var all: [DecisionID] { open.keys.sorted() }

    /// Records that the caller of a question has ended the call.
    mutating func withdraw(_ id: DecisionID, at now: Moment) {
        open[id]?.isWithdrawn = true
        guard let question = open[id] else { return }
        withdrawn.append(question)
        ended.removeAll { $0.at + SwitchboardLimits.offerRepeatedFor <= now }
        if ended.count >= Self.openInAll { ended.removeFirst() }
        ended.append((question, now))
    }

    /// Whether an offer is a copy, by the other transport perhaps, of one that was withdrawn a moment ago.
    ///
    /// The callId decides, too: an app in the making sends one description for all its calls.
    func isWithdrawn(_ digest: UInt64, _ callID: CallID?, of caller: UserID, to callee: UserID, at now: Moment) -> Bool
    {
        ended.contains { entry in
            let question = entry.question
            return question.digest == digest && question.caller == caller && question.callee == callee
                && (question.madeCallID ? nil : question.callID) == callID
                && now < entry.at + SwitchboardLimits.offerRepeatedFor
        }
    }

    /// Returns the questions that were withdrawn since the last call of this function.
    mutating func takeWithdrawn() -> [Question] {
        defer { withdrawn = [] }
        return withdrawn
    }

    /// Counts a signal that waits for a decision; returns whether there was room.
    mutating func admitWaiting(_ id: DecisionID) -> Bool {
        guard let waiting = open[id]?.waiting, waiting < Self.waitingPerQuestion else { return false }
        open[id]?.waiting += 1
        return true
    }

    /// Notes the result of a question: what the breaker does about it.
    mutating func note(_ outcome: DecisionOutcome, of question: Question, at now: Moment) -> DecisionBreaker.Change? {
        switch outcome {
        case .allowed, .refused, .hidden: return breaker.succeeded()
        case .late, .unreachable: return breaker.failed(question.id, of: question.caller, at: now)
        // The backend responds, though not with a decision.
        case .malformed: return breaker.responded(to: question.id)
        case .unasked, .overloaded, .withdrawn:
            breaker.abandoned(question.id, at: now)
            return nil
        }
    }

    /// Keeps the present decision for an offer that waits for the store once more.
    ///
    /// Without it, the backend would be asked again, and again after the next time that the store is asked.
    mutating func keepCurrent(at now: Moment) {
        guard let current else { return }
        kept.removeAll { $0.decided.question.id == current.question.id || $0.at + Self.keptFor < now }
        if kept.count >= Self.openInAll { kept.removeFirst() }
        kept.append((current, now))
    }

    /// Removes and returns a decision that was kept for an offer; `nil` = there is none.
    mutating func takeKept(at now: Moment, where fits: (Question) -> Bool) -> Decided? {
        guard let place = kept.firstIndex(where: { $0.at + Self.keptFor >= now && fits($0.decided.question) }) else {
            return nil
        }
        return kept.remove(at: place).decided
    }

    /// Returns the newest question for which a condition holds among those of a caller that are not withdrawn.
    func newest(of caller: UserID, where fits: (Question) -> Bool) -> Question? {
        for id in (byCaller[caller] ?? []).reversed() {
            if let question = open[id], !question.isWithdrawn, fits(question) { return question }
        }
        return nil
    }
}

extension CallDecisions.Question {
    /// Whether an offer of the same caller belongs to the call that this one would begin, such as a resend.
    func isAbout(_ callID: CallID?, _ offer: SignalID?, from device: DeviceIdentity, to peer: UserID?) -> Bool {
        if let peer, peer != callee { return false }
        if let callID { return !madeCallID && callID == self.callID }
        return offer != nil && offer == self.offer && device.isSame(as: self.device)
    }
}
