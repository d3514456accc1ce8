/// What the low 32 bits of both ids hold: the slot, and above it which of several loops the connection is on.
enum Place {
    /// A slot has 24 bits: more than there can be descriptors.
    static let slotMask: UInt64 = (1 << 24) - 1
    /// A loop has the four bits above.
    static let loopShift: UInt64 = 24

    static func number(high: UInt32, slot: Int, loop: Int) -> UInt64 {
        UInt64(high) << 32 | UInt64(truncatingIfNeeded: loop) << loopShift | UInt64(truncatingIfNeeded: slot) & slotMask
    }

    @inline(__always)
    static func slot(_ number: UInt64) -> Int { Int(truncatingIfNeeded: number & slotMask) }
}

/// One connection: its loop, a slot of that loop's connection table, and the generation of its tenant, in 64 bits.
///
/// An id outlives its connection harmlessly: whatever is asked of a connection that is gone does nothing.
public struct ConnectionID: Hashable, Sendable, CustomStringConvertible {
    /// Slot and loop in the low, the generation in the high 32 bits; never 0.
    ///
    /// Bits 28 to 31 are 0: other numbers can be told from these by them.
    public let rawValue: UInt64

    /// The connection that had this number, for whoever passes numbers around.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    init(slot: Int, generation: UInt32, loop: Int) {
        rawValue = Place.number(high: generation, slot: slot, loop: loop)
    }

    init?(opaque: UnsafeMutableRawPointer?) {
        guard let opaque else { return nil }
        rawValue = UInt64(UInt(bitPattern: opaque))
    }

    /// Which loop the connection is on: what ``Server/loop`` says of its server, 0 to 15.
    @inlinable public var loop: Int { Int(truncatingIfNeeded: rawValue >> 24 & 15) }

    var slot: Int { Place.slot(rawValue) }
    var generation: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }

    /// What C keeps of us: the number itself, no pointer to anything.
    var opaque: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: UInt(rawValue)) }

    /// `slot.generation`, for logs; on a further loop with its number before it.
    public var description: String { (loop == 0 ? "" : "\(loop):") + "\(slot).\(generation)" }
}

/// One HTTP request that awaits its response.
///
/// Like a ``ConnectionID`` it outlives what it names harmlessly.
public struct ExchangeID: Hashable, Sendable {
    /// Slot and loop of its connection in the low, a serial number in the high 32 bits; never 0.
    public let rawValue: UInt64

    /// The request that had this number, for whoever passes numbers around.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    init(slot: Int, serial: UInt32, loop: Int) {
        rawValue = Place.number(high: serial, slot: slot, loop: loop)
    }

    /// Which loop its connection is on, see ``ConnectionID/loop``.
    @inlinable public var loop: Int { Int(truncatingIfNeeded: rawValue >> 24 & 15) }

    var slot: Int { Place.slot(rawValue) }
    var serial: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }
}
