import JSON
import Testing

@Suite("A value in a JSON object")
struct MemberTests {
    private func string(_ value: String) throws -> String? {
        let object = try JSONObject(bytes(#"{"x":\#(value)}"#), names: .none)
        return object.string(object.members[0])
    }

    private func integer(_ value: String) throws -> Int64? {
        let object = try JSONObject(bytes(#"{"x":\#(value)}"#), names: .none)
        return object.integer(object.members[0])
    }

    @Test(
        "The escapes of a string are decoded",
        arguments: [
            (#""""#, ""), (#""plain é😀""#, "plain é😀"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#""\u00e9\u00E9""#, "éé"), (#""\u65e5\u672c""#, "日本"), (#""\uD83D\uDE00""#, "😀"),
            (#""\ud83d\ude00x""#, "😀x"), (#""\u0000""#, "\u{0}"), (#""\uFFFF""#, "\u{FFFF}"),
            (#""\uDBFF\uDFFF""#, "\u{10FFFF}"), (#""\\u0041""#, "\\u0041"), (#""a\u0301""#, "a\u{301}"),
        ]
    )
    func strings(_ value: String, _ expected: String) throws {
        #expect(try string(value).map { Array($0.unicodeScalars) } == Array(expected.unicodeScalars))
    }

    @Test(
        "A string with a lone surrogate has no text",
        arguments: [
            #""\uD800""#, #""\uDC00""#, #""\uD800x""#, #""\uD800\n""#, #""\uD800\u0041""#, #""\uD800\uD800""#,
            #""\uDC00\uD800""#, #""x\uDFFF""#, #""\uD83D\\uDE00""#, #""\uD83D\/uDE00""#,
        ]
    )
    func surrogates(_ value: String) throws { #expect(try string(value) == nil) }

    @Test("A value other than a string has no text", arguments: ["1", "null", "true", "[]", "{}", #"["a"]"#])
    func noStrings(_ value: String) throws { #expect(try string(value) == nil) }

    @Test("A whole number is from 0 to 2^53, without sign, fraction or exponent")
    func integers() throws {
        #expect(try integer("0") == 0)
        #expect(try integer("11") == 11)
        #expect(try integer("9007199254740992") == 1 << 53)
        for wrong in [
            "9007199254740993", "-1", "-0", "1.0", "1e3", "99999999999999999999999", "\"1\"", "true", "[1]", "null",
        ] { #expect(try integer(wrong) == nil, "\(wrong)") }
    }

    @Test("The positions of a value's bytes are kept")
    func places() throws {
        let text = #" { "a" : "x\n" , "b":[1, 2] } "#
        let object = try JSONObject(bytes(text), names: .none)
        #expect(
            object.members.map { String(decoding: object.bytes[$0.whole], as: UTF8.self) } == [
                #""a" : "x\n""#, #""b":[1, 2]"#,
            ]
        )
        #expect(object.members.map { String(decoding: object.bytes[$0.name], as: UTF8.self) } == ["a", "b"])
        #expect(object.members.map(\.kind) == [.string(isPlain: false), .array])
        #expect(object.range == 1..<text.utf8.count - 1)
    }

    @Test(
        "A string that the writer wrote is read back unchanged",
        arguments: [
            "", "plain", "é日本😀", "\"\\/", "\u{0}\u{1}\u{8}\u{B}\u{C}\n\r\t\u{1F}", "\u{7F}\u{80}\u{2028}", "\\u0041",
        ]
    )
    func roundTrip(_ text: String) throws { #expect(try string(quoted(text)) == text) }

    @Test("Control characters, quote and backslash are escaped, and no other ASCII character")
    func escapes() {
        for byte in UInt8(0)..<0x80 {
            let written = quoted(String(UnicodeScalar(byte)))
            let expected =
                switch byte {
                case 0x22: #""\"""#
                case 0x5C: #""\\""#
                case 0x0A: #""\n""#
                case 0x0D: #""\r""#
                case 0x09: #""\t""#
                case 0..<0x10: "\"\\u000\(String(byte, radix: 16))\""
                case 0x10..<0x20: "\"\\u00\(String(byte, radix: 16))\""
                default: "\"\(UnicodeScalar(byte))\""
                }
            #expect(written == expected)
        }
    }
}

@Suite("A JSON writer")
struct JSONWriterTests {
    private func written(_ headroom: Int = 0, _ body: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter(headroom: headroom)
        body(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test("The writer puts commas between members and elements, and nowhere else")
    func commas() {
        let text = written { json in
            json.beginObject()
            json.name("a")
            json.beginArray()
            json.endArray()
            json.name("b")
            json.beginArray()
            json.value(1)
            json.beginObject()
            json.endObject()
            json.null()
            json.endArray()
            json.rawMembers([])
            json.rawMembers(bytes(#""r":1,"s":2"#)[...])
            json.name("c" as String)
            json.value(true)
            json.name(escaping: "d\"")
            json.raw(bytes("[1]"))
            json.endObject()
        }
        #expect(text == #"{"a":[],"b":[1,{},null],"r":1,"s":2,"c":true,"d\"":[1]}"#)
    }

    @Test("The writer writes an array of values in their order, with commas between them")
    func arrays() {
        let text = written { json in
            json.beginObject()
            json.name("none")
            json.array([Int]()) { number, json in json.value(number) }
            json.name("lists")
            json.array([[1], [], [2, 3]]) { numbers, json in
                json.array(numbers) { number, json in json.value(number) }
            }
            json.endObject()
        }
        #expect(text == #"{"none":[],"lists":[[1],[],[2,3]]}"#)
    }

    @Test("The writer writes whole numbers up to the ends of their range")
    func numbers() {
        let text = written { json in
            json.beginArray()
            json.value(0)
            json.value(-7)
            json.value(Int64.min)
            json.value(Int64.max)
            json.value(UInt64.max)
            json.value(UInt8(200))
            json.endArray()
        }
        #expect(text == "[0,-7,-9223372036854775808,9223372036854775807,18446744073709551615,200]")
    }

    @Test("The writer leaves the headroom that a transport needs")
    func headroom() {
        #expect(Array(written(3) { $0.value(5) }.utf8) == [0, 0, 0, 0x35])
    }
}
