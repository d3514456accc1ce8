/// One connection: a slot of the connection table and the generation of its tenant, in 64 bits.
///
/// An id outlives its connection harmlessly: whatever is asked of a connection that is gone does nothing.
public struct ConnectionID: Hashable, Sendable, CustomStringConvertible {
    /// The slot in the low, the generation in the high 32 bits; never 0.
    public let rawValue: UInt64

    /// The connection that had this number, for whoever passes numbers around.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    init(slot: Int, generation: UInt32) {
        rawValue = UInt64(generation) << 32 | UInt64(UInt32(truncatingIfNeeded: slot))
    }

    init?(opaque: UnsafeMutableRawPointer?) {
        guard let opaque else { return nil }
        rawValue = UInt64(UInt(bitPattern: opaque))
    }

    var slot: Int { Int(UInt32(truncatingIfNeeded: rawValue)) }
    var generation: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }

    /// What C keeps of us: the number itself, no pointer to anything.
    var opaque: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: UInt(rawValue)) }

    /// `slot.generation`, for logs.
    public var description: String { "\(slot).\(generation)" }
}

/// One HTTP request that awaits its response.
///
/// Like a ``ConnectionID`` it outlives what it names harmlessly.
public struct ExchangeID: Hashable, Sendable {
    /// The slot of its connection in the low, a serial number in the high 32 bits; never 0.
    public let rawValue: UInt64

    /// The request that had this number, for whoever passes numbers around.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    init(slot: Int, serial: UInt32) {
        rawValue = UInt64(serial) << 32 | UInt64(UInt32(truncatingIfNeeded: slot))
    }

    var slot: Int { Int(UInt32(truncatingIfNeeded: rawValue)) }
    var serial: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }
}
