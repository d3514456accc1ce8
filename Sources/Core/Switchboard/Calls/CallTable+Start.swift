import CallCore
import CallPorts

/// The ended calls that a start finds: they are at rest at once, and their logs are read only on request.
extension CallTable {
    /// The calls of one callId and two users that are newer than the one at hand.
    private struct Newer {
        private(set) var isAny = false
        /// Whether at least one of them is not hidden from the first user of the pair, and from the second one.
        private var isShown = (low: false, high: false)

        mutating func add(_ call: CallIdentity) {
            isAny = true
            if call.side(of: call.key.pair.low) != nil { isShown.low = true }
            if call.side(of: call.key.pair.high) != nil { isShown.high = true }
        }

        /// Whether a user still finds an older call by the callId, as ``CallTable/insert(_:)`` would have it.
        func lets(_ user: UserID, find call: CallIdentity) -> Bool {
            if call.side(of: user) == nil { return !isAny }
            return user == call.key.pair.low ? !isShown.low : !isShown.high
        }
    }

    /// Puts the ended calls of a start to rest; `ended` = oldest first, all older than the live calls of the same
    /// callId and users.
    mutating func restAtStart(_ ended: [EndedCall], expiresAt: (Int) -> Moment) {
        var newer: [CallKey: Newer] = [:]
        newer.reserveCapacity(ended.count)
        resting.reserveCapacity(ended.count)
        for (index, end) in ended.enumerated().reversed() {
            let call = end.identity
            var others = newer[call.key] ?? Newer()
            if !others.isAny, let live = self[call.key] { others.add(live.identity) }
            let isNamedByCaller = call.scheduled == nil && others.lets(call.caller, find: call)
            let atRest = RestingCall(
                call,
                expiresAt: expiresAt(index),
                isNewest: !others.isAny,
                isNamed: isNamedByCaller || others.lets(call.callee, find: call)
            )
            resting.insert(call.number, atRest)
            others.add(call)
            newer[call.key] = others
        }
        for end in ended {
            for side in end.uninformed { endNotices.insert(end.identity.number, for: end.identity.user(on: side)) }
        }
    }
}
