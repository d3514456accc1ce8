import CallCore
import CallPorts

/// The calls of which an event is held, so that their later events wait behind it.
///
/// Memory does not hold all such calls. A call after ``completeAfter`` that is not here has no held event; of an
/// earlier one it is known only if it was asked for.
struct BlockedCalls {
    /// A call of which an event is held.
    struct Call {
        /// The position of the first held event.
        var head: EventPosition
        /// The position of the last held event; `nil` = not known.
        var tail: EventPosition?
        var state: State

        enum State {
            /// The first held event waits for an attempt.
            case retry
            /// The first held event is parked, and so are the others.
            case parked
            /// The first held event was accepted, or deleted; the next one is read from the store.
            case next
        }
    }

    /// The largest number of calls.
    private let limit: Int
    /// The calls after this one are all known.
    private(set) var completeAfter: CallNumber
    private var calls: [CallNumber: Call] = [:]
    /// The calls up to ``completeAfter`` that have no held event.
    private var clear: Set<CallNumber> = []

    /// Nothing is known of calls up to this one.
    init(completeAfter call: CallNumber, limit: Int) {
        completeAfter = call
        self.limit = limit
    }

    /// The number of calls in memory.
    var count: Int { max(calls.count, clear.count) }

    /// The held events of a call; `nil` = none is held, or it is not known.
    subscript(call: CallNumber) -> Call? { calls[call] }

    /// The calls of which an event is held.
    var numbers: [CallNumber] { calls.keys.sorted() }

    /// Whether a call that is not here has no held event.
    func isClear(_ call: CallNumber) -> Bool { call > completeAfter || clear.contains(call) }

    /// Records the held events of a call.
    ///
    /// `isNeeded`: Whether a call must stay because work for it is under way.
    mutating func set(_ call: CallNumber, _ held: Call, keeping isNeeded: (CallNumber, Call) -> Bool) {
        calls[call] = held
        clear.remove(call)
        guard calls.count > limit else { return }
        let candidates = calls.filter { !isNeeded($0.key, $0.value) && $0.key != call }.keys.sorted()
        for number in candidates.prefix(limit / 2) { forget(number) }
    }

    /// Records that no event of a call is held.
    mutating func setClear(_ call: CallNumber) {
        calls[call] = nil
        guard call <= completeAfter else { return }
        if clear.count >= limit { clear.removeAll(keepingCapacity: true) }
        clear.insert(call)
    }

    /// Forgets a call: whether an event of it is held is not known any more.
    mutating func forget(_ call: CallNumber) {
        calls[call] = nil
        clear.remove(call)
        completeAfter = max(completeAfter, call)
    }
}
