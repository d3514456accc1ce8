import JSON
import Testing

@Suite("A JSON value that is read as a whole")
struct ValueTests {
    private func parse(_ text: String) throws(JSONFault) -> JSONValue { try JSONValue(bytes(text)) }

    @Test("Values of every kind in RFC 8259 are read")
    func accepted() throws {
        #expect(try parse(" [ ] ") == .array([]))
        #expect(try parse("{}") == .object(JSONMembers()))
        #expect(try parse("\t[true,false,null]\r\n") == .array([.bool(true), .bool(false), .null]))
        for number in ["0", "-0", "1", "-1", "10", "0.5", "1e5", "1E+5", "1.25e-7", "123456789012345678901234567890"] {
            guard case .number(let read) = try parse(number) else {
                Issue.record("\(number) is no number")
                continue
            }
            #expect(read.literal == bytes(number))
        }
        #expect(
            try parse(#""a\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\uDE00é😀""#).text
                == Array("a\"\\/\u{8}\u{C}\n\r\tAé😀é😀".utf8)
        )
        guard case .object(let object) = try parse(#"{"a":{"a":1},"b":[{"a":2},{"a":3}],"":4}"#) else {
            Issue.record("no object")
            return
        }
        #expect(["a", "b", "", "c"].map { object[$0] != nil } == [true, true, true, false])
    }

    @Test(
        "Malformed texts, duplicate names and lone surrogates are refused",
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
        #expect(throws: JSONFault.self) { try parse(text) }
    }

    @Test("A text is accepted to a depth of 32, and no deeper, whatever its innermost value is")
    func depth() {
        func nested(_ count: Int, _ open: String, _ close: String, _ core: String) -> String {
            String(repeating: open, count: count) + core + String(repeating: close, count: count)
        }
        for (open, close) in [("[", "]"), (#"{"":"#, "}")] {
            for core in ["1", "[]", "{}"] {
                let inner = core == "1" ? 0 : 1
                let most = JSONLimits.depth - inner
                #expect(throws: Never.self) { try parse(nested(most, open, close, core)) }
                #expect(throws: JSONFault.tooDeep) { try parse(nested(most + 1, open, close, core)) }
            }
            #expect(throws: JSONFault.tooDeep) { try parse(String(repeating: open, count: 1_000_000)) }
        }
    }

    @Test("Duplicate names, texts that are not UTF-8, and other malformed texts are distinguished")
    func faults() {
        for text in [#"{"k":1,"k":2}"#, #"[{"x":{"k":1,"\u006b":2}}]"#, #"{"":0,"":0}"#] {
            #expect(throws: JSONFault.duplicateName) { try parse(text) }
        }
        for wrong: [UInt8] in [[0x80], [0xC3], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xFF]] {
            #expect(throws: JSONFault.notUTF8) { try JSONValue([0x22] + wrong + [0x22]) }
        }
        #expect(throws: JSONFault.syntax) { try parse(#"{"\uD800":1}"#) }
    }

    @Test("A number has digits only if it is written without sign, fraction and exponent, however many they are")
    func numbers() throws {
        for (text, hasDigits, double) in [
            ("0", true, 0), ("9223372036854775807", true, 0x1p63), ("9223372036854775808", true, 0x1p63),
            ("-0", false, -0.0), ("-1", false, -1), ("1.0", false, 1), ("1e2", false, 100), ("1e400", false, .infinity),
            ("-1e400", false, -.infinity),
        ] as [(String, Bool, Double)] {
            guard case .number(let number) = try parse(text) else {
                Issue.record("\(text) is no number")
                continue
            }
            #expect(number.digits == (hasDigits ? text : nil) && number.double == double, "\(text)")
        }
    }

    @Test("Names of members are compared byte for byte, not as Swift's strings")
    func names() throws {
        guard case .object(let object) = try parse("{\"K\":1,\"\u{212A}\":2,\"\u{E9}\":3,\"e\u{301}\":4}") else {
            Issue.record("no object")
            return
        }
        for (name, value) in [("K", "1"), ("\u{212A}", "2"), ("\u{E9}", "3"), ("e\u{301}", "4")] {
            guard case .number(let number)? = object[name] else {
                Issue.record("no \(name)")
                continue
            }
            #expect(number.literal == bytes(value))
        }
    }

    @Test("Damaged text never crashes the parser")
    func damaged() {
        let pieces =
            ["{", "}", "[", "]", "\"", "\\", "\\u", "d83d", ":", ",", "-1", "e5", "tru", " ", "\u{0}", "é"].map(bytes)
            + [[0xFF], [0xED], [0xC0]]
        let whole = bytes(#"{"a":[1.5e+3,true,null,{"b":"\u00e9\ud83d\ude00\n"}],"é":{}}"#)
        #expect(throws: Never.self) { try JSONValue(whole) }
        for piece in pieces {
            for place in whole.indices {
                // Most of these texts are refused. The test is that none of them crashes the parser.
                _ = try? JSONValue(whole[..<place] + piece + whole[place...])
                _ = try? JSONValue(whole[..<place] + piece + whole[(place + 1)...])
                _ = try? JSONValue(whole[..<place] + piece)
            }
            for second in pieces { for third in pieces { _ = try? JSONValue(piece + second + third) } }
        }
    }
}
