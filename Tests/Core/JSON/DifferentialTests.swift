import JSON
import SeededRandom
import Testing

/// Tests that a scanner that reads eight bytes at a time finds the same as one that reads byte by byte.
@Suite("The scanner compared with one that reads byte by byte")
struct ScannerDifferentialTests {
    private static let names = ["type", "id", "sdp", "callId", "sixteen-letters-"]
    private static let table = MemberNames(names)

    private struct Outcome: Equatable {
        var object: ReferenceScanner.Object?
        var fault: JSONFault?
    }

    private static func expected(_ text: [UInt8], _ part: Range<Int>) -> Outcome {
        do throws(JSONFault) {
            return Outcome(object: try ReferenceScanner.object(text, names, in: part))
        } catch { return Outcome(fault: error) }
    }

    private static func found(_ text: [UInt8], _ part: Range<Int>) -> Outcome {
        do throws(JSONFault) {
            let object = try JSONObject(text, names: table, in: part)
            return Outcome(object: .init(members: object.members, range: object.range))
        } catch { return Outcome(fault: error) }
    }

    /// Compares both scanners; the text may be a part of a longer one, in which the string would go on.
    private static func differs(_ text: [UInt8], within around: (before: [UInt8], after: [UInt8]) = ([], [])) -> Bool {
        let whole = around.before + text + around.after
        let part = around.before.count..<around.before.count + text.count
        return found(whole, part) != expected(whole, part)
    }

    @Test("Special bytes and escapes at each place of strings of each length, at each place of a word")
    func places() {
        let specials: [[UInt8]] =
            [
                [0x00], [0x1F], [0x20], [0x21], [0x22], [0x23], [0x5B], [0x5C], [0x5D], [0x7F], [0x80], [0xA2], [0xDC],
                [0xFF],
            ]
            + [#"\n"#, #"\""#, #"\x"#, #"\u00e9"#, #"\u00g9"#, #"\ud83d\ude00"#, #"\ud83d"#, #"\\\\"#].map(bytes)
        var wrong: [String] = []
        for offset in 0..<8 {
            for length in [0, 1, 5, 6, 7, 8, 9, 14, 15, 16, 17, 23, 24, 25, 33] {
                for place in 0...length {
                    for special in specials {
                        var content = [UInt8](repeating: UInt8(ascii: "x"), count: length)
                        content.insert(contentsOf: special, at: place)
                        let space = [UInt8](repeating: 0x20, count: offset)
                        let value = space + bytes(#"{"a":""#) + content + bytes(#""}"#)
                        let name = space + bytes(#"{""#) + content + bytes(#"":1}"#)
                        let cut = Array(value.dropLast(2))
                        if Self.differs(value) || Self.differs(name)
                            || Self.differs(cut, within: (bytes("\""), bytes(#""},"x":1}"#)))
                        {
                            wrong.append("\(special) at \(place) of \(length) behind \(offset)")
                        }
                    }
                }
            }
        }
        #expect(wrong == [])
    }

    private static let seeds = [
        #"{"type":"offer","id":"1","callId":"c-1","to":10,"sdp":"v=0\r\nm=video 9 RTP/AVP 31\r\n","x":true}"#,
        #" {"type" : "ice" , "id":"2","candidate":{"candidate":"candidate:1 1 UDP 1 1.2.3.4 5","n":[1.5e+3,-0,{}]}} "#,
        #"{"sixteen-letters-":[[[{"a":[{"b":{}}]}]]],"sixteen-letters":null,"sdp":false,"ty\u0070e":[],"":{}}"#,
        #"{"a":"\ud83d\ude00\"\\\/\b\f\n\r\t","é":"日本語","n":[0,-1,1.25,1E5,1e-7,123456789012345678901234567890]}"#,
        #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13,"id":14,"o":15}"#,
    ]
    private static let pieces =
        [
            "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "\\n", "00e9", "true", "false", "null", "-", "0", "1", ".",
            "e", "E+", " ", "\n", "\t", "\"id\":", "\"sdp\"", "\"\":", "[[[[[[[[", "{\"a\":{\"a\":", "]]]]]]]]", "}}",
            "tru",
            "1.0", "\"abcdefgh\"", "\"sixteen-letters-\":",
        ].map(bytes) + [[0x00], [0x1F], [0x7F], [0x80], [0xC3], [0xFF], [0xED, 0xA0, 0x80]]

    @Test("Damaged objects", arguments: [31, 32, 33, 34])
    func damaged(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var accepted = 0
        for round in 0..<8_000 {
            var text = bytes(Self.seeds[round % Self.seeds.count])
            for _ in 0..<Int.random(in: 0...3, using: &generator) where !text.isEmpty {
                let index = Int.random(in: 0..<text.count, using: &generator)
                let piece = Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &generator)]
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: text.insert(contentsOf: piece, at: index)
                case 1: text.replaceSubrange(index..<index + 1, with: piece)
                case 2: text.removeSubrange(index..<min(text.count, index + Int.random(in: 1...9, using: &generator)))
                case 3: text.insert(contentsOf: text[index..<min(text.count, index + 20)], at: index)
                default: text.swapAt(index, Int.random(in: 0..<text.count, using: &generator))
                }
            }
            let part = 0..<text.count
            let expected = Self.expected(text, part)
            if expected.object != nil { accepted += 1 }
            #expect(Self.found(text, part) == expected, "\(String(decoding: text, as: UTF8.self))")
        }
        #expect(accepted > 1_000, "too few texts were accepted to prove anything")
    }

    @Test("Texts of random tokens, and deep ones", arguments: [41, 42])
    func tokens(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<20_000 {
            var text: [UInt8] = bytes("{\"a\":")
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                text += Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &generator)]
            }
            #expect(!Self.differs(text), "\(String(decoding: text, as: UTF8.self))")
        }
        for depth in 0..<40 {
            for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"b":"#, "}]")] {
                for core in ["1", "", "[]", "{}"] {
                    let nested = String(repeating: open, count: depth) + core + String(repeating: close, count: depth)
                    #expect(!Self.differs(bytes(#"{"a":\#(nested)}"#)), "\(nested)")
                    #expect(!Self.differs(bytes(nested)), "\(nested)")
                }
            }
        }
    }

    @Test("Duplicate names among many members, plain and escaped")
    func duplicates() {
        for first in Self.names + ["a"] {
            for second in Self.names + ["a"] {
                for count in [0, 1, 9, 10, 11, 12, 13, 23, 24, 40] {
                    let between = (0..<count).map { #""x\#($0)":\#($0),"# }.joined()
                    let escaped = second.utf8.map { "\\u00" + String($0, radix: 16) }.joined()
                    for name in [second, escaped] {
                        #expect(!Self.differs(bytes(#"{"\#(first)":1,\#(between)"\#(name)":2,"sdp":3}"#)))
                    }
                }
            }
        }
    }
}
