/// The number of a client's connection: of its socket or, if it has one, of its Socket.IO session.
///
/// A loop gives its sockets their numbers and uses none twice, so a number that outlives its connection is harmless. On
/// a link between nodes the number is that of the edge; at the owner it also has the number of the link.
@frozen
package struct SocketID: Hashable, Sendable {
    /// The number; never 0 for a socket.
    package let rawValue: UInt64

    /// Creates the id with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The number of the socket's event loop, 0 to 15, in bits 24 to 27 of the number.
    @inlinable package var loop: Int { Int(truncatingIfNeeded: rawValue >> 24 & 15) }

    /// Returns whether two ids are of one connection.
    @inlinable
    package static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }

    /// Hashes the number.
    @inlinable
    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

/// The number of an HTTP request that waits for its response.
///
/// It may outlive the request without harm, as a ``SocketID`` may.
@frozen
package struct RequestID: Hashable, Sendable {
    /// The number; never 0 for a request of a client.
    package let rawValue: UInt64

    /// Creates the id with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The number of its connection's event loop, see ``SocketID/loop``.
    @inlinable package var loop: Int { Int(truncatingIfNeeded: rawValue >> 24 & 15) }

    /// Returns whether two ids are of one request.
    @inlinable
    package static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }

    /// Hashes the number.
    @inlinable
    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
