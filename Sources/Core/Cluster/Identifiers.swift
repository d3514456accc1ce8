/// The number of a socket at its edge; each edge has numbers of its own.
package struct EdgeSocketID: Hashable, Sendable {
    /// The number.
    package let rawValue: UInt64

    /// Creates the id with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The number of an HTTP request at its edge; each edge has numbers of its own.
package struct EdgeExchangeID: Hashable, Sendable {
    /// The number.
    package let rawValue: UInt64

    /// Creates the id with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}
