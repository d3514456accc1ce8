import CallCore

/// The part of a call at rest that stays in memory.
///
/// The call has ended, and no poll, push or notification of it is under way. Everything else about it is in the store.
///
/// A value of this type has some 40 bytes; see Decision 0012.
struct RestingCall {
    /// When the call can no longer be fetched.
    let expiresAt: Moment
    /// The number of events in the call's timeline.
    let events: UInt16
    /// Whether the call is the newest one of its callId and its two users.
    let isNewest: Bool
    /// Whether the call can be found by its callId; a later call may have taken the callId.
    let isNamed: Bool
    /// Hashes of the keys that lead to the call: its callId with each of its two users, and the offer that began it
    /// (0 = no such key).
    fileprivate let keyHashes: (caller: Int, callee: Int, offer: Int)

    init(_ call: Call, expiresAt: Moment, isNewest: Bool, isNamed: Bool, offer: Int?) {
        self.expiresAt = expiresAt
        self.isNewest = isNewest
        self.isNamed = isNamed
        events = UInt16(clamping: call.timeline.count)
        let id = call.key.id
        keyHashes = (
            RestingCalls.name(id, of: call.caller), RestingCalls.name(id, of: call.callee), offer ?? 0
        )
    }

    /// A call that has ended before this start of the server.
    ///
    /// Its first offer is known only once the call is loaded; until then, any offer of its caller may be a resend of
    /// it.
    init(_ call: CallIdentity, expiresAt: Moment, isNewest: Bool, isNamed: Bool) {
        self.expiresAt = expiresAt
        self.isNewest = isNewest
        self.isNamed = isNamed
        events = 0
        let id = call.key.id
        keyHashes = (
            RestingCalls.name(id, of: call.caller), RestingCalls.name(id, of: call.callee),
            RestingCalls.anyOffer(of: call.caller)
        )
    }
}

/// The calls at rest.
///
/// Their keys are stored as hashes. A call that is found by a hash is read from the store and then looked up by its
/// full key. Two keys with the same hash cost only one superfluous read.
struct RestingCalls {
    private enum Match {
        case one(CallNumber)
        indirect case several([CallNumber])

        var numbers: [CallNumber] {
            switch self {
            case .one(let number): [number]
            case .several(let numbers): numbers
            }
        }
    }

    private var calls: [CallNumber: RestingCall] = [:]
    private var byKeyHash: [Int: Match] = [:]

    /// Returns the hash of a callId and one of its two users.
    static func name(_ id: CallID, of user: UserID) -> Int {
        var hasher = Hasher()
        hasher.combine(user)
        hasher.combine(id)
        return hasher.finalize()
    }

    /// Returns the hash that stands for every offer of a user, for calls whose first offer is not known.
    static func anyOffer(of user: UserID) -> Int { user.hashValue }

    var isEmpty: Bool { calls.isEmpty }
    var count: Int { calls.count }
    subscript(number: CallNumber) -> RestingCall? { calls[number] }

    /// Returns the calls that have a key with this hash, oldest first.
    func named(_ name: Int) -> [CallNumber] { byKeyHash[name]?.numbers ?? [] }

    mutating func reserveCapacity(_ count: Int) {
        calls.reserveCapacity(count)
        byKeyHash.reserveCapacity(3 * count)
    }

    mutating func insert(_ number: CallNumber, _ call: RestingCall) {
        calls[number] = call
        for name in Self.keyHashes(of: call) {
            // Nearly always it is the only one.
            guard let others = byKeyHash.updateValue(.one(number), forKey: name) else { continue }
            list(others.numbers.filter { $0 != number } + [number], under: name)
        }
    }

    mutating func remove(_ number: CallNumber) -> RestingCall? {
        guard let call = calls.removeValue(forKey: number) else { return nil }
        for name in Self.keyHashes(of: call) { list(named(name).filter { $0 != number }, under: name) }
        return call
    }

    private mutating func list(_ numbers: [CallNumber], under name: Int) {
        switch numbers.count {
        case 0: byKeyHash[name] = nil
        case 1: byKeyHash[name] = .one(numbers[0])
        default: byKeyHash[name] = .several(numbers.sorted())
        }
    }

    private static func keyHashes(of call: RestingCall) -> [Int] {
        (call.isNamed ? [call.keyHashes.caller, call.keyHashes.callee] : [])
            + (call.keyHashes.offer == 0 ? [] : [call.keyHashes.offer])
    }
}
