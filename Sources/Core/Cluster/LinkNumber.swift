/// The numbers of the sockets and requests of other nodes.
///
/// At the owner, the number of another node's socket is that node's own number with the number of the node's link, 1 to
/// 7, in bits 28 to 30. These bits are 0 in the numbers of a node's own sockets.
package enum LinkNumber {
    /// The numbers of the links that an owner can have at the same time.
    package static let range = 1...7

    @usableFromInline static let shift: UInt64 = 28
    @usableFromInline static let mask: UInt64 = 7 << 28

    /// Returns whether a number belongs to a socket or request of another loop or another node.
    @inlinable
    package static func isElsewhere(_ number: UInt64) -> Bool { number & (mask | 15 << 24) != 0 }

    /// Returns the link of a number; 0 = this node.
    @inlinable
    package static func link(of number: UInt64) -> Int { Int(truncatingIfNeeded: (number & mask) >> shift) }

    /// Returns the owner's number of a socket or request of a link.
    @inlinable
    package static func number(_ number: UInt64, on link: Int) -> UInt64 { number & ~mask | UInt64(link) << shift }

    /// Returns the other node's own number.
    @inlinable
    package static func edgeNumber(_ number: UInt64) -> UInt64 { number & ~mask }
}
