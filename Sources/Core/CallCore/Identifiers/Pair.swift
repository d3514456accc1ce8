/// Two users, regardless of who calls whom: `p2p:11-10` and `p2p:10-11` are the same pair.
public struct Pair: Hashable, Sendable {
    /// The user whose id comes first in byte order.
    public let low: UserID
    /// The other user.
    ///
    /// Both users are the same if a user calls another device of their own.
    public let high: UserID

    /// Creates the pair of these two users, given in either order.
    public init(_ a: UserID, _ b: UserID) {
        if b < a {
            low = b
            high = a
        } else {
            low = a
            high = b
        }
    }

    /// Returns whether `user` is one of the two users.
    public func contains(_ user: UserID) -> Bool { user == low || user == high }

    /// Returns the user of the pair who is not `user`; `user` must be one of the two.
    public func other(than user: UserID) -> UserID { user == low ? high : low }
}

/// The key of a call: its callId and its two users.
///
/// Calls of other users under the same callId have other keys.
public struct CallKey: Hashable, Sendable {
    /// The callId that the caller chose.
    public let id: CallID
    /// The two users of the call.
    public let pair: Pair

    /// Creates the key of the call `id` between `pair`.
    public init(id: CallID, pair: Pair) {
        self.id = id
        self.pair = pair
    }

    // Written out and inlined: a table that probes a key would otherwise copy it for the comparison.
    /// Returns whether both have the same callId and the same two users.
    @inlinable @inline(__always)
    public static func == (a: Self, b: Self) -> Bool { a.id == b.id && a.pair == b.pair }
}

/// The number of one call (one epoch of a callId between a pair), unique over all calls that this server has ever had.
///
/// Numbers increase and may have gaps.
public struct CallNumber: Hashable, Comparable, Sendable {
    /// The number, counted from 1.
    public let rawValue: Int64

    /// Creates the number of a call.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Returns whether the call `a` began before `b`.
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
