/// The places for requests that resolve a name or connect: few in all, and few for each user.
struct Places {
    /// Who has a place.
    struct Holder {
        let user: String?
    }

    private let count: Int
    private let reserved: Int
    private let perUser: Int
    private(set) var taken = 0
    /// The number of places that each user has; requests without a user have no limit of their own.
    private var ofUser: [String: Int] = [:]
    private var holders: [HTTPRequestID: Holder] = [:]
    private var waiting = FairQueue<String?, HTTPRequestID>()
    /// The waiting requests to known hosts, which may also have the reserved places.
    private var waitingForKnown = FairQueue<String?, HTTPRequestID>()

    init(count: Int, reserved: Int, perUser: Int) {
        self.count = count
        self.reserved = reserved
        self.perUser = perUser
    }

    /// Takes a place; returns false if there is none.
    mutating func reserve(of user: String?, isKnown: Bool) -> Bool {
        guard taken < count - (isKnown ? 0 : reserved), mayTake(user) else { return false }
        taken += 1
        if let user { ofUser[user, default: 0] += 1 }
        return true
    }

    private func mayTake(_ user: String?) -> Bool { user.map { ofUser[$0, default: 0] < perUser } ?? true }

    /// Records that a request has the place that was just taken.
    mutating func hold(_ id: HTTPRequestID, of user: String?) { holders[id] = Holder(user: user) }

    /// Returns whether a request has a place.
    func isHeld(by id: HTTPRequestID) -> Bool { holders[id] != nil }

    /// Frees the place of a request; returns false if the request has none.
    mutating func free(_ id: HTTPRequestID) -> Bool {
        guard let holder = holders.removeValue(forKey: id) else { return false }
        free(holder)
        return true
    }

    mutating func free(_ holder: Holder) {
        taken -= 1
        guard let user = holder.user, let left = ofUser[user] else { return }
        ofUser[user] = left > 1 ? left - 1 : nil
    }

    /// Makes a request wait for a place.
    mutating func wait(_ id: HTTPRequestID, of user: String?, isKnown: Bool) {
        if isKnown { waitingForKnown.append(id, of: user) } else { waiting.append(id, of: user) }
    }

    /// Returns the request that gets the next free place; `nil` if none is free, or nobody may have one.
    mutating func next() -> HTTPRequestID? {
        if taken < count, let id = waitingForKnown.popFirst(where: mayTake) { return id }
        guard taken < count - reserved else { return nil }
        return waiting.popFirst(where: mayTake)
    }
}
