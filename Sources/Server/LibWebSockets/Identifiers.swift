/// The layout of the low 32 bits of a ``SocketID`` and an ``ExchangeID``: the slot, above it the event loop's
/// number.
enum IDLayout {
    /// The mask of a slot's 24 bits: more slots than there can be descriptors.
    static let slotMask: UInt64 = (1 << 24) - 1
    /// The position of the event loop's four bits, above the slot.
    static let loopShift: UInt64 = 24

    static func number(high: UInt32, slot: Int, loop: Int) -> UInt64 {
        UInt64(high) << 32 | UInt64(truncatingIfNeeded: loop) << loopShift | UInt64(truncatingIfNeeded: slot) & slotMask
    }

    @inline(__always)
    static func slot(_ number: UInt64) -> Int { Int(truncatingIfNeeded: number & slotMask) }
}

/// The id of a connection: its event loop, its slot in that loop's connection table, and the slot's generation, in 64
/// bits.
///
/// An id that outlives its connection is harmless: operations on a connection that is gone do nothing.
package struct SocketID: Hashable, Sendable, CustomStringConvertible {
    /// The slot and the loop in the low 32 bits, the generation in the high 32 bits; never 0.
    ///
    /// Bits 28 to 31 are 0, so that other numbers can be distinguished from connection ids by these bits.
    package let rawValue: UInt64

    /// Creates the id with this number, for code that passes ids around as numbers.
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    init(slot: Int, generation: UInt32, loop: Int) {
        rawValue = IDLayout.number(high: generation, slot: slot, loop: loop)
    }

    init?(opaque: UnsafeMutableRawPointer?) {
        guard let opaque else { return nil }
        rawValue = UInt64(UInt(bitPattern: opaque))
    }

    /// The number of the connection's event loop, 0 to 15: ``Server/loop`` of its server.
    @inlinable package var loop: Int { Int(truncatingIfNeeded: rawValue >> 24 & 15) }

    var slot: Int { IDLayout.slot(rawValue) }
    var generation: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }

    /// The id as C stores it: the number itself, not a pointer to anything.
    var opaque: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: UInt(rawValue)) }

    /// `slot.generation`, for logs; prefixed with the loop's number unless that is 0.
    package var description: String { (loop == 0 ? "" : "\(loop):") + "\(slot).\(generation)" }
}

/// The id of an HTTP request that waits for its response.
///
/// Like a ``SocketID``, it may outlive the request without harm.
package struct ExchangeID: Hashable, Sendable {
    /// The slot and the loop of its connection in the low 32 bits, a serial number in the high 32 bits; never 0.
    package let rawValue: UInt64

    /// Creates the id with this number, for code that passes ids around as numbers.
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    init(slot: Int, serial: UInt32, loop: Int) {
        rawValue = IDLayout.number(high: serial, slot: slot, loop: loop)
    }

    /// The number of its connection's event loop, see ``SocketID/loop``.
    @inlinable package var loop: Int { Int(truncatingIfNeeded: rawValue >> 24 & 15) }

    var slot: Int { IDLayout.slot(rawValue) }
    var serial: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }
}
