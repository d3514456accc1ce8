import CallCore
import CallPorts
import SeededRandom
import Testing

@Suite("A cursor of the call directory")
struct NumberCursorTests {
    @Test("The text of a cursor is read back, and is short and safe in a URL")
    func roundTrip() throws {
        let last = try #require(PhoneNumber(rawValue: PhoneNumber.maximum))
        let first = try #require(PhoneNumber(rawValue: 1))
        let largest = PhoneNumber.maximum
        let cursors = [
            NumberCursor(.identities, version: 0), NumberCursor(.blocks, version: largest),
            NumberCursor(.identities, version: 7, place: .init(since: nil, page: 2, after: first)),
            NumberCursor(.identities, version: largest, place: .init(since: largest, page: largest, after: last)),
            NumberCursor(.blocks, version: 7, place: .init(since: 0, page: 3, after: last)),
        ]
        for cursor in cursors {
            #expect(NumberCursor(cursor.text) == cursor)
            #expect(cursor.text.utf8.count <= NumberCursor.maximumBytes)
            #expect(
                cursor.text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D }
            )
        }
    }

    @Test(
        "Any other text is no cursor",
        arguments: [
            "", "i", "x1", "1", "i-1", "i01", "i1-", "i1-2", "i1-1-5", "i1-2-0", "i1-2-05", "i1-2-5-", "i1-2-5-2",
            "i1-2-5-1-1",
            "i1 ", "I1", "i1\n", "i9999999999999999999", "i1-2-+5", "i１",
        ]
    )
    func malformed(_ text: String) { #expect(NumberCursor(text) == nil) }

    @Test("A changed text of a cursor is refused, or is the text of another cursor")
    func mutated() throws {
        var random = SeededGenerator(seed: 11)
        let after = try #require(PhoneNumber(rawValue: 821_012_345_678))
        let text = NumberCursor(.identities, version: 31, place: .init(since: 12, page: 4, after: after)).text
        for _ in 0..<20_000 {
            var bytes = Array(text.utf8)
            for _ in 0...Int(random.next() % 3) {
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next() % 128)
            }
            let changed = String(decoding: bytes, as: UTF8.self)
            if let cursor = NumberCursor(changed) { #expect(cursor.text == changed) }
        }
    }
}
