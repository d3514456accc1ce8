import CallCore
import Testing

@Suite("An identifier from the bytes of a text")
struct IdentifierBytesTests {
    @Test("Bytes make the same identifiers as their text, and none where the text makes none")
    func sameAsText() {
        for byte in UInt8.min...UInt8.max {
            // Each byte stands at the beginning, in the middle and at the end of a word of eight bytes, and of the text.
            for (count, place) in [(1, 0), (5, 4), (8, 0), (8, 7), (14, 9), (14, 13), (36, 20), (36, 35)] {
                var id = [UInt8](repeating: UInt8(ascii: "x"), count: count)
                id[place] = byte
                compare(id)
            }
        }
        for count in [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129] {
            compare([UInt8](repeating: UInt8(ascii: "a"), count: count))
        }
    }

    /// Compares identifiers of these bytes, at the end of a text and before other bytes, with those of their text.
    private func compare(_ id: [UInt8]) {
        let isASCII = id.allSatisfy { $0 < 0x80 }
        let text = isASCII ? String(decoding: id, as: UTF8.self) : nil
        for rest in ["", #"","callId":"b"}"#] {
            let bytes = [0x22] + id + Array(rest.utf8)
            let part = 1..<1 + id.count
            #expect(UserID(bytes, part) == text.flatMap { UserID($0) }, "\(id)")
            #expect(DeviceID(bytes, part) == text.flatMap { DeviceID($0) }, "\(id)")
            #expect(CallID(bytes, part) == text.flatMap { CallID($0) }, "\(id)")
            #expect(UserID(bytes, part).hashValue == text.flatMap { UserID($0) }.hashValue, "\(id)")
            // The bytes of a string without escapes.
            if id.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
                #expect(SignalID(plain: bytes, part) == text.flatMap { SignalID($0) }, "\(id)")
            }
        }
    }

    @Test("An id needs no escape if all of its characters are printable ASCII except the quote and the backslash")
    func plain() {
        for byte in UInt8.min..<0x80 {
            let isPlain = byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            #expect(SignalID("a\(Character(UnicodeScalar(byte)))b")?.isPlain == isPlain, "byte \(byte)")
        }
        #expect(SignalID("\u{E4}")?.isPlain == false)
    }

    @Test("Ids of texts that Swift takes for equal are equal")
    func canonicallyEqual() throws {
        let (one, other) = (try #require(SignalID("\u{E4}")), try #require(SignalID("a\u{308}")))
        #expect(one == other && one.hashValue == other.hashValue)
    }
}
