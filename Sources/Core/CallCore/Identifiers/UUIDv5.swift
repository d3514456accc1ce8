/// UUIDs made from names (RFC 9562, section 5.5), so that both ends and every push identify a call by the same UUID in
/// CallKit.
public enum UUIDv5 {
    /// Returns the UUID of a name in the URL namespace, in lower case.
    public static func url(_ name: String) -> String {
        var message = namespace
        message.append(contentsOf: name.utf8)
        return text(SHA1.hash(message))
    }

    /// 6ba7b811-9dad-11d1-80b4-00c04fd430c8, RFC 9562, section 6.6.
    private static let namespace: [UInt8] = [
        0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
    ]
    /// The bytes before the callId in the name of a call.
    private static let callPrefix = namespace + Array("ringline:".utf8)

    /// Returns the UUID that identifies a call in CallKit: the callId if it is a UUID and the epoch is 1, else a UUID
    /// made from the folded callId and the epoch.
    public static func call(_ id: CallID, epoch: UInt32) -> String {
        if epoch == 1, isUUID(id.text) { return id.text.lowercased() }
        // The parts of `ringline:<callId>/<epoch>`; to make a string of them would cost a thousand instructions.
        var message: [UInt8] = []
        message.reserveCapacity(128)
        message.append(contentsOf: callPrefix)
        message.append(contentsOf: id.folded.utf8)
        message.append(UInt8(ascii: "/"))
        message.append(contentsOf: String(epoch).utf8)
        return text(SHA1.hash(message))
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

    /// Returns the UUID of version 5 with the first four words of a hash.
    private static func text(_ words: (UInt32, UInt32, UInt32, UInt32)) -> String {
        let second = digits(words.1 & 0xFFFF_0FFF | 0x5000)
        let third = digits(words.2 & 0x3FFF_FFFF | 0x8000_0000)
        var text: [UInt8] = []
        text.reserveCapacity(36)
        text.append(addingCapacity: 36) { part in
            append(digits(words.0), count: 8, to: &part)
            part.append(UInt8(ascii: "-"))
            append(second, count: 4, to: &part)
            part.append(UInt8(ascii: "-"))
            append(second >> 32, count: 4, to: &part)
            part.append(UInt8(ascii: "-"))
            append(third, count: 4, to: &part)
            part.append(UInt8(ascii: "-"))
            append(third >> 32, count: 4, to: &part)
            append(digits(words.3), count: 8, to: &part)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the eight hex digits of a word in ASCII, the first one in the lowest byte: all digits are made at once.
    private static func digits(_ word: UInt32) -> UInt64 {
        var bytes = UInt64(word.byteSwapped)
        bytes = (bytes | bytes << 16) & 0x0000_FFFF_0000_FFFF
        bytes = (bytes | bytes << 8) & 0x00FF_00FF_00FF_00FF
        let values = bytes >> 4 & 0x000F_000F_000F_000F | (bytes & 0x000F_000F_000F_000F) << 8
        let letters = (values &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return values &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }

    private static func append(_ word: UInt64, count: Int, to part: inout OutputSpan<UInt8>) {
        for index in 0..<count { part.append(UInt8(truncatingIfNeeded: word >> UInt64(8 * index))) }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? value + 0x30 : value + 0x57 }
}

/// SHA-1 (RFC 3174), needed for UUIDs of version 5.
///
/// It must not be used where a collision would do harm.
///
/// It is implemented here, not taken from a library, because this module also runs in apps and imports nothing.
struct SHA1 {
    private var a: UInt32 = 0x6745_2301
    private var b: UInt32 = 0xEFCD_AB89
    private var c: UInt32 = 0x98BA_DCFE
    private var d: UInt32 = 0x1032_5476
    private var e: UInt32 = 0xC3D2_E1F0

    private init() {}

    /// Returns the first four of the five words of a message's hash.
    static func hash(_ message: [UInt8]) -> (UInt32, UInt32, UInt32, UInt32) {
        var padded = message
        let zeros = (119 - message.count % 64) % 64
        padded.reserveCapacity(message.count + zeros + 9)
        padded.append(0x80)
        for _ in 0..<zeros { padded.append(0) }
        let bitCount = UInt64(message.count) * 8
        for shift in stride(from: 56, through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: bitCount >> shift))
        }

        var hash = SHA1()
        // The schedule of a block; the array is reused for each block.
        var words: [UInt32] = []
        words.reserveCapacity(80)
        words.append(addingCapacity: 80) { part in for _ in 0..<80 { part.append(0) } }
        for block in stride(from: 0, to: padded.count, by: 64) {
            hash.mix(padded.span.extracting(block..<block + 64), &words)
        }
        return (hash.a, hash.b, hash.c, hash.d)
    }

    /// Mixes in a block of 64 bytes.
    private mutating func mix(_ block: Span<UInt8>, _ schedule: inout [UInt32]) {
        var words = schedule.mutableSpan
        // The compiler needs no further checks of the indices.
        guard block.count == 64, words.count == 80 else { return }
        for index in 0..<16 {
            let first = UInt32(block[4 &* index]) << 24 | UInt32(block[4 &* index &+ 1]) << 16
            words[index] = first | UInt32(block[4 &* index &+ 2]) << 8 | UInt32(block[4 &* index &+ 3])
        }
        for index in 16..<80 {
            let next = words[index &- 3] ^ words[index &- 8] ^ words[index &- 14] ^ words[index &- 16]
            words[index] = Self.rotate(next, 1)
        }
        var mixed = self
        for index in 0..<20 { mixed.step(mixed.b & mixed.c | ~mixed.b & mixed.d, 0x5A82_7999, words[index]) }
        for index in 20..<40 { mixed.step(mixed.b ^ mixed.c ^ mixed.d, 0x6ED9_EBA1, words[index]) }
        for index in 40..<60 {
            let majority = mixed.b & mixed.c | mixed.b & mixed.d | mixed.c & mixed.d
            mixed.step(majority, 0x8F1B_BCDC, words[index])
        }
        for index in 60..<80 { mixed.step(mixed.b ^ mixed.c ^ mixed.d, 0xCA62_C1D6, words[index]) }
        a &+= mixed.a
        b &+= mixed.b
        c &+= mixed.c
        d &+= mixed.d
        e &+= mixed.e
    }

    /// Does one of the eighty steps of a block.
    @inline(__always)
    private mutating func step(_ f: UInt32, _ k: UInt32, _ word: UInt32) {
        let sum = Self.rotate(a, 5) &+ f &+ e &+ k &+ word
        e = d
        d = c
        c = Self.rotate(b, 30)
        b = a
        a = sum
    }

    @inline(__always)
    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word &<< count | word &>> (32 - count) }
}
