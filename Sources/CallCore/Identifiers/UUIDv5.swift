/// UUIDs made from names (RFC 9562, section 5.5), so that both ends and every push identify a call by the same UUID in
/// CallKit.
public enum UUIDv5 {
    /// Returns the UUID of a name in the URL namespace, in lower case.
    public static func url(_ name: String) -> String {
        var bytes = SHA1.hash(namespace + Array(name.utf8))
        bytes[6] = bytes[6] & 0x0F | 0x50
        bytes[8] = bytes[8] & 0x3F | 0x80
        return text(bytes)
    }

    /// 6ba7b811-9dad-11d1-80b4-00c04fd430c8, RFC 9562, section 6.6.
    private static let namespace: [UInt8] = [
        0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
    ]

    /// Returns the UUID that identifies a call in CallKit: the callId if it is a UUID and the epoch is 1, else a UUID
    /// made from callId and epoch.
    public static func call(_ id: CallID, epoch: UInt32) -> String {
        if epoch == 1, isUUID(id.text) { return id.text.lowercased() }
        return url("ringline:\(id.text)/\(epoch)")
    }

    /// Returns whether a text has the form of a UUID.
    public static func isUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        let bytes = Array(text.utf8)
        return bytes.indices.allSatisfy { index in
            switch index {
            case 8, 13, 18, 23: bytes[index] == UInt8(ascii: "-")
            default:
                switch bytes[index] {
                case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
                default: false
                }
            }
        }
    }

    /// Returns the text form of a UUID's sixteen bytes.
    public static func text(_ bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(36)
        for index in 0..<min(16, bytes.count) {
            let byte = bytes[index]
            if index == 4 || index == 6 || index == 8 || index == 10 { result.append(UInt8(ascii: "-")) }
            result.append(hexDigit(byte >> 4))
            result.append(hexDigit(byte & 15))
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? value + 0x30 : value + 0x57 }
}

/// SHA-1 (RFC 3174), needed for UUIDs of version 5.
///
/// It must not be used where a collision would do harm.
///
/// It is implemented here, not taken from a library, because this module also runs in apps and imports nothing.
enum SHA1 {
    static func hash(_ message: [UInt8]) -> [UInt8] {
        var padded = message
        padded.reserveCapacity((message.count + 72) / 64 * 64)
        padded.append(0x80)
        while padded.count % 64 != 56 { padded.append(0) }
        let bitCount = UInt64(message.count) * 8
        for shift in stride(from: 56, through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: bitCount >> shift))
        }

        var state = State()
        // The sixteen newest words of a block's schedule; the array is reused for each block.
        var words = [UInt32](repeating: 0, count: 16)
        for block in stride(from: 0, to: padded.count, by: 64) {
            for index in 0..<16 {
                let start = block + index * 4
                words[index] =
                    UInt32(padded[start]) << 24 | UInt32(padded[start + 1]) << 16 | UInt32(padded[start + 2]) << 8
                    | UInt32(padded[start + 3])
            }
            state.mix(&words)
        }
        var result: [UInt8] = []
        result.reserveCapacity(20)
        for word in [state.a, state.b, state.c, state.d, state.e] {
            for shift: UInt32 in [24, 16, 8, 0] { result.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return result
    }

    /// The five words of the digest.
    private struct State {
        var a: UInt32 = 0x6745_2301
        var b: UInt32 = 0xEFCD_AB89
        var c: UInt32 = 0x98BA_DCFE
        var d: UInt32 = 0x1032_5476
        var e: UInt32 = 0xC3D2_E1F0

        /// Mixes in a block of sixteen words.
        mutating func mix(_ words: inout [UInt32]) {
            var mixed = self
            for index in 0..<20 { mixed.step(mixed.b & mixed.c | ~mixed.b & mixed.d, 0x5A82_7999, index, &words) }
            for index in 20..<40 { mixed.step(mixed.b ^ mixed.c ^ mixed.d, 0x6ED9_EBA1, index, &words) }
            for index in 40..<60 {
                let majority = mixed.b & mixed.c | mixed.b & mixed.d | mixed.c & mixed.d
                mixed.step(majority, 0x8F1B_BCDC, index, &words)
            }
            for index in 60..<80 { mixed.step(mixed.b ^ mixed.c ^ mixed.d, 0xCA62_C1D6, index, &words) }
            a &+= mixed.a
            b &+= mixed.b
            c &+= mixed.c
            d &+= mixed.d
            e &+= mixed.e
        }

        /// Does one of the eighty steps of a block.
        @inline(__always)
        private mutating func step(_ f: UInt32, _ k: UInt32, _ index: Int, _ words: inout [UInt32]) {
            if index >= 16 {
                let next =
                    words[(index &+ 13) & 15] ^ words[(index &+ 8) & 15] ^ words[(index &+ 2) & 15]
                    ^ words[index & 15]
                words[index & 15] = rotate(next, 1)
            }
            let sum = rotate(a, 5) &+ f &+ e &+ k &+ words[index & 15]
            e = d
            d = c
            c = rotate(b, 30)
            b = a
            a = sum
        }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word &<< count | word &>> (32 - count) }
}
