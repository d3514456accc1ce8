import CallCore

/// For each user, the ended calls whose end has not yet been reported to every device of that user in the call.
struct EndNotices {
    private var byUser: [UserID: [CallNumber]] = [:]

    var isEmpty: Bool { byUser.isEmpty }

    /// Returns the calls of a user, in the order in which they ended.
    subscript(user: UserID) -> [CallNumber] { byUser[user] ?? [] }

    /// Records that a device of a user must be notified of a call's end when the device connects again.
    mutating func insert(_ call: CallNumber, for user: UserID) {
        if byUser[user]?.contains(call) != true { byUser[user, default: []].append(call) }
    }

    /// Removes a call from a user's list.
    mutating func remove(_ call: CallNumber, for user: UserID) {
        byUser[user]?.removeAll { $0 == call }
        if byUser[user]?.isEmpty == true { byUser[user] = nil }
    }

    /// Removes the calls that can no longer be fetched.
    mutating func keep(where isKept: (CallNumber) -> Bool) {
        byUser = byUser.compactMapValues { calls in
            let kept = calls.filter(isKept)
            return kept.isEmpty ? nil : kept
        }
    }
}
