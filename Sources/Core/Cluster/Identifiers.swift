/// The number of a socket at its edge; each edge has numbers of its own.
public struct EdgeSocketID: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// Creates the id with this number.
    @inlinable
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The number of an HTTP request at its edge; each edge has numbers of its own.
public struct EdgeExchangeID: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// Creates the id with this number.
    @inlinable
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}
