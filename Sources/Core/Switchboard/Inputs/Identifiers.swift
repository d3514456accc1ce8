/// The number of a device's connection, assigned by the gateway; never reused.
public struct ConnectionID: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// The connection with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The number of a request that awaits its response, assigned by the gateway; never reused.
public struct RequestID: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// The request with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}
