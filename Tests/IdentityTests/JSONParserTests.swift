import Testing

@testable import Identity

@Suite("The strict JSON parser")
struct JSONParserTests {
    private func parse(_ text: String) throws(JSONError) -> JSON { try JSONParser.parse(Array(text.utf8)) }

    @Test("The parser reads every text that RFC 8259 allows")
    func accepted() throws {
        #expect(try parse(" [ ] ") == .array([]))
        #expect(try parse("{}") == .object(JSONObject()))
        #expect(try parse("\t[true,false,null]\r\n") == .array([.bool(true), .bool(false), .null]))
        for number in ["0", "-0", "1", "-1", "10", "0.5", "1e5", "1E+5", "1.25e-7", "123456789012345678901234567890"] {
            #expect(try parse(number) == .number(JSONNumber(literal: Array(number.utf8))))
        }
        #expect(
            try parse(#""a\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\uDE00é😀""#).text
                == Array("a\"\\/\u{8}\u{C}\n\r\tAé😀é😀".utf8)
        )
        guard case .object(let object) = try parse(#"{"a":{"a":1},"b":[{"a":2},{"a":3}],"":4}"#) else {
            Issue.record("no object")
            return
        }
        #expect(object.members.count == 3 && object[""] != nil && object["c"] == nil)
    }

    @Test(
        "Everything else is refused",
        arguments: [
            "", " ", "{", "}", "[", "]", ",", ":", "[1,]", "[,1]", "[1 2]", "[1;2]", "{\"a\"}", "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\" 1}", "{a:1}", "{'a':1}", "{\"a\":1 \"b\":2}", "{\"a\":1}}", "[]]", "[] []", "nul", "nulll", "True",
            "TRUE", "undefined", "NaN", "-NaN", "Infinity", "-Infinity", "-", "+1", "01", "-01", "00", "1.", ".1",
            "1.e1",
            "1e", "1e+", "1e1.5", "0x1", "1_000", "1,000", "--1", "1-", "\"", "\"a", "\"\\", "\"\\\"", "\"\\u\"",
            "\"\\u12\"", "\"\\u123g\"", "\"\\u{41}\"", "\"\\x41\"", "\"\\a\"", "\"\\'\"", "\"\\ud800\"", "\"\\udc00\"",
            "\"\\ud800\\ud800\"", "\"\\udc00\\udc00\"", "\"\\ud800\\n\"", "\"\\ud800x\"", "\"\\ud83d\\u0041\"",
            "\"\n\"", "\"\t\"",
            "\"\u{0}\"",
            "\"\u{1F}\"", "\u{FEFF}1", "\u{A0}1", "1\u{2028}", "//\n1", "/**/1", "#\n1", "\u{B}1", "\u{C}1", "1\0",
            "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":1}", "[{\"\":1,\"\":2}]",
        ]
    )
    func refused(text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }

    @Test("A value may be nested in 32 others, and no deeper")
    func depth() throws {
        func nested(_ count: Int) -> String {
            String(repeating: "[", count: count) + String(repeating: "]", count: count)
        }
        #expect(throws: Never.self) { try parse(nested(JSONParser.maximumDepth + 1)) }
        #expect(throws: JSONError.tooDeep) { try parse(nested(JSONParser.maximumDepth + 2)) }
        #expect(throws: JSONError.tooDeep) { try parse(String(repeating: "[", count: 1_000_000)) }
        #expect(throws: JSONError.tooDeep) { try parse(String(repeating: #"{"":"#, count: 1_000_000)) }
    }

    @Test("Names of members are compared byte for byte, not as Swift's strings")
    func names() throws {
        guard case .object(let object) = try parse("{\"K\":1,\"\u{212A}\":2,\"\u{E9}\":3,\"e\u{301}\":4}") else {
            Issue.record("no object")
            return
        }
        #expect(object.members.count == 4)
        #expect(object["K"] == .number(JSONNumber(literal: Array("1".utf8))))
    }

    @Test("Random bytes never crash the parser")
    func anything() {
        var chance = Chance(seed: 7)
        let alphabet = Array("{}[]\",:\\u0123456789abcdefdDeE+-.tn \u{0}é😀".utf8) + [0xFF, 0xC0, 0xED]
        for _ in 0..<20_000 {
            let bytes = (0..<Int(chance.next(40))).map { _ in alphabet[Int(chance.next(UInt64(alphabet.count)))] }
            // Most of these bytes are refused. The test is that none of them crashes the parser.
            _ = try? JSONParser.parse(bytes)
        }
    }
}

/// A random number generator with a seed (SplitMix64), which returns the same numbers on every run.
struct Chance {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }

    /// Returns a random number below `bound`.
    mutating func next(_ bound: UInt64) -> UInt64 { next() % bound }
}
