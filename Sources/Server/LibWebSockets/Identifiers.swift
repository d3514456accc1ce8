import CallPorts

/// The layout of the low 32 bits of a `SocketID` and a `RequestID`: the slot, above it the event loop's
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

/// The number of a socket consists of its event loop, its slot in that loop's connection table, and the slot's generation.
///
/// Bits 28 to 31 are 0, so that other numbers can be distinguished from those of sockets by these bits.
extension SocketID {
    init(slot: Int, generation: UInt32, loop: Int) {
        self.init(rawValue: IDLayout.number(high: generation, slot: slot, loop: loop))
    }

    init?(opaque: UnsafeMutableRawPointer?) {
        guard let opaque else { return nil }
        self.init(rawValue: UInt64(UInt(bitPattern: opaque)))
    }

    var slot: Int { IDLayout.slot(rawValue) }
    var generation: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }

    /// The id as C stores it: the number itself, not a pointer to anything.
    var opaque: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: UInt(rawValue)) }
}

/// The number of a request consists of the slot and the loop of its connection, and a serial number.
extension RequestID {
    init(slot: Int, serial: UInt32, loop: Int) {
        self.init(rawValue: IDLayout.number(high: serial, slot: slot, loop: loop))
    }

    var slot: Int { IDLayout.slot(rawValue) }
    var serial: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }
}
