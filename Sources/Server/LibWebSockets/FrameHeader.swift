/// The header of a frame that the server sends (RFC 6455, section 5.2): final, unmasked, no extension.
struct FrameHeader {
    let isPing: Bool
    let payloadBytes: Int

    func write(to text: inout [UInt8]) {
        text.append(isPing ? 0x89 : 0x81)
        if payloadBytes < 126 {
            text.append(UInt8(truncatingIfNeeded: payloadBytes))
        } else if payloadBytes < 65_536 {
            text.append(126)
            text.append(UInt8(truncatingIfNeeded: payloadBytes >> 8))
            text.append(UInt8(truncatingIfNeeded: payloadBytes))
        } else {
            text.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                text.append(UInt8(truncatingIfNeeded: payloadBytes >> shift))
            }
        }
    }
}
