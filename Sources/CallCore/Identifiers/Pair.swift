/// Two users, whoever calls whom: `p2p:11-10` and `p2p:10-11` are the same pair.
public struct Pair: Hashable, Sendable {
    /// The one whose bytes come first.
    public let low: UserID
    /// The other one; may be the same user, who then calls another device of their own.
    public let high: UserID

    /// The pair of these two, in either order.
    public init(_ a: UserID, _ b: UserID) {
        if b < a {
            low = b
            high = a
        } else {
            low = a
            high = b
        }
    }

    /// Whether `user` is one of the two.
    public func holds(_ user: UserID) -> Bool { user == low || user == high }

    /// The other one of the two.
    public func other(than user: UserID) -> UserID { user == low ? high : low }
}

/// What a call is kept under: its name and its two users, so that a name in use between others is never met.
public struct CallKey: Hashable, Sendable {
    /// The name that the caller chose.
    public let id: CallID
    /// Between whom.
    public let pair: Pair

    /// The key of the call `id` between `pair`.
    public init(id: CallID, pair: Pair) {
        self.id = id
        self.pair = pair
    }
}

/// Numbers one epoch of one call, over all calls that this server has ever seen; counts up, may skip.
public struct CallNumber: Hashable, Comparable, Sendable {
    /// The number, from 1.
    public let rawValue: Int64

    /// The call with this number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Whether `a` was begun before `b`.
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
