/// The number of a device's connection, assigned by the gateway; never reused.
package struct ConnectionID: Hashable, Sendable {
    /// The number.
    package let rawValue: UInt64

    /// The connection with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The number of a request that awaits its response, assigned by the gateway; never reused.
package struct RequestID: Hashable, Sendable {
    /// The number.
    package let rawValue: UInt64

    /// The request with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}
