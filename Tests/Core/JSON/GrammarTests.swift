import JSON
import Testing

/// Tests of the JSON grammar.
///
/// The tests put each value into an object, as JSONTestSuite puts each value into an array.
@Suite("JSON text")
struct JSONGrammarTests {
    @Test("Every ASCII character in a string is accepted or refused correctly at every position")
    func everyPlace() {
        var wrong: [String] = []
        for length in 0..<26 {
            for place in 0...length {
                for byte in UInt8(0)..<0x80 {
                    var text = Array(#"{"k":""#.utf8) + Array(repeating: UInt8(ascii: "x"), count: length)
                    text.insert(byte, at: 6 + place)
                    text += Array(#""}"#.utf8)
                    let mustEscape = byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
                    // A backslash before the closing quote or before an x is invalid too.
                    if (fault(text) == nil) == mustEscape { wrong.append("byte \(byte) at \(place) of \(length)") }
                }
            }
        }
        #expect(wrong == [])
    }

    @Test(
        "Every kind of valid value is accepted",
        arguments: [
            "0", "-0", "1", "-1", "10", "1.5", "0.5", "-0.5", "1e5", "1E5", "1e+5", "1E-5", "0e0", "1.0e10", "1e00",
            "123456789012345678901234567890", "1e400", "-0.0000001", "0.0", "20e1", "\"\"", "\"a\"", "\"é日本😀\"",
            #""\"""#, #""\\""#, #""\/""#, #""\b\f\n\r\t""#, #""\u0000""#, #""\u00e9""#, #""\uD834\uDD1E""#,
            #""\uDBFF\uDFFF""#, #""\uD800""#, #""\uDC00""#, #""\u2028""#, "\"\u{2028}\"", "\"\u{7F}\"", #""\\u0000""#,
            #""\\\"""#, "true", "false", "null", "[]", "[ ]", "[1]", "[1,2]", "[1 , 2]", "[[]]", "[null]", "{}", "{ }",
            #"{"a":1}"#, #"{"a":1,"a":2}"#, #"{"":0}"#, #"{"a":{"b":[{}]}}"#, " 1 ", "\t1\n\r", "[\n]", "{\r\n}",
            #"{"\u0061":1}"#, #"[true,false,null,0,"",[],{}]"#,
        ]
    )
    func valid(_ value: String) {
        let text = bytes(#"{"x":\#(value)}"#)
        #expect(fault(text) == nil)
        #expect(fault([0x20, 0x0A] + text + [0x0D, 0x09]) == nil)
    }

    @Test(
        "A value that breaks the grammar is refused",
        arguments: [
            "", "01", "-01", "00", "-", "+1", ".5", "-.5", "1.", "1.e1", "1e", "1e+", "1E-", "0x1", "1_0", "1a", "--1",
            "1 2", "1,", "Infinity", "-Infinity", "NaN", "1e1.5", "１", "\"", "\"a", "'a'", "a", #""\"#, #""\x""#,
            #""\a""#, #""\u""#, #""\u0""#, #""\u00""#, #""\u000""#, #""\u00g0""#, #""\U0000""#, #""\uD8""#, #""\'""#,
            #""\0""#, "\"\n\"", "\"\t\"", "\"\u{0}\"", "\"\u{1F}\"", "tru", "True", "TRUE", "truee", "nul", "nil",
            "undefined", "fals", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1}", "{", "}",
            #"{"a""#, #"{"a":"#, #"{"a":1"#, #"{"a":1,"#, #"{"a":1,}"#, "{,}", #"{,"a":1}"#, #"{"a",1}"#,
            #"{"a":1 "b":2}"#,
            "{a:1}", "{'a':1}", "{1:1}", "{null:1}", #"{"a"::1}"#, #"{"a":1;"b":2}"#, #"{"a":1}}"#, "[[]", "[]]",
            "/**/1", "1//", "#", "\u{FEFF}1", "\u{A0}1", "\u{0B}1", "\u{0C}1", "\\u0031", "\"a\"\"b\"", "<null>", "*",
        ]
    )
    func invalid(_ value: String) { #expect(fault(bytes(#"{"x":\#(value)}"#)) == .syntax) }

    @Test(
        "A valid value other than an object is distinguished from text that is not JSON",
        arguments: ["[]", "1", "\"a\"", "null", "true", " [1,{}] ", "-0", #"[{"a":1}]"#]
    )
    func notAnObject(_ text: String) { #expect(fault(bytes(text)) == .notAnObject) }

    @Test(
        "A text with anything before or after the object, or without a whole object, is refused",
        arguments: [
            "", " ", "{}{}", "{} {}", "{},", "{}x", "x{}", "{}]", "\u{FEFF}{}", "{}\u{0}", "//\n{}", "{}#", "{",
        ]
    )
    func around(_ text: String) { #expect(fault(bytes(text)) == .syntax) }

    @Test("A text that is cut off at any byte is refused")
    func truncated() {
        let whole = bytes(#"{"type":"ice","n":[1.5e+3,true,null,{"a":"\u00e9\n"}],"z":{}}"#)
        #expect(fault(whole) == nil)
        for count in 0..<whole.count { #expect(fault(Array(whole[..<count])) == .syntax, "\(count) bytes") }
    }

    @Test("A text is accepted to a depth of 32, and no deeper")
    func depth() {
        func nested(_ count: Int, _ open: String, _ close: String, _ core: String) -> [UInt8] {
            bytes(
                #"{"x":"# + String(repeating: open, count: count) + core + String(repeating: close, count: count) + "}"
            )
        }
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            #expect(fault(nested(JSONLimits.depth - 1, open, close, "1")) == nil)
            #expect(fault(nested(JSONLimits.depth, open, close, "1")) == .tooDeep)
            #expect(fault(nested(20_000, open, close, "1")) == .tooDeep)
        }
        #expect(fault(bytes(String(repeating: "[", count: 30_000))) == .tooDeep)
        #expect(fault(bytes(#"{"x":["# + Array(repeating: "[]", count: 10_000).joined(separator: ",") + "]}")) == nil)
    }

    @Test("A known name that occurs twice is refused, even if it is escaped once; other names may occur twice")
    func duplicates() {
        #expect(fault(bytes(#"{"sdp":1,"sdp":2}"#)) == .duplicate("sdp"))
        #expect(fault(bytes(#"{"sdp":1,"\u0073dp":2}"#)) == .duplicate("sdp"))
        #expect(fault(bytes(#"{"\u0073\u0064p":1,"x":0,"s\u0064p":2}"#)) == .duplicate("sdp"))
        #expect(fault(bytes(#"{"callId":null,"callId":"x"}"#)) == .duplicate("callId"))
        #expect(fault(bytes(#"{"mine":1,"mine":2}"#)) == nil)
        #expect(fault(bytes(#"{"sdp":1,"SDP":2}"#)) == nil)
        #expect(fault(bytes(#"{"x":{"sdp":1,"sdp":2}}"#)) == nil)
    }

    @Test("A member has the number of its name, plain or escaped; other names have no number")
    func numbers() throws {
        let names = MemberNames(["a", "sixteen-letters-", "ab", "é", "b"])
        for (number, name) in names.texts.enumerated() {
            let escaped = name.utf16.map { "\\u" + String(0x10000 + Int($0), radix: 16).dropFirst() }.joined()
            for written in [name, escaped] {
                let object = try JSONObject(bytes(#"{"x":0,"\#(written)":7}"#), names: names)
                #expect(object.members.map(\.number) == [nil, UInt8(number)])
                #expect(object.member(numbered: UInt8(number)).flatMap { object.integer($0) } == 7)
            }
        }
        for other in ["", "A", "aa", "ba", "sixteen-letters", "sixteen-letters-x", #"\u0000a"#, #"\uD800"#] {
            #expect(try JSONObject(bytes(#"{"\#(other)":7}"#), names: names).members.map(\.number) == [nil], "\(other)")
        }
    }

    @Test("A set of names may have 64 names, and the last name is found, too")
    func manyNames() throws {
        let names = MemberNames((0..<64).map { "n\($0)" })
        let text = "{" + names.texts.reversed().map { "\"\($0)\":1" }.joined(separator: ",") + "}"
        let object = try JSONObject(bytes(text), names: names)
        #expect(object.members.map(\.number) == (0..<64).reversed().map { UInt8($0) })
        #expect(fault(bytes(#"{"n63":1,"n63":1}"#), names) == .duplicate("n63"))
    }

    @Test("A member is found by its name as it is written, unless it is null")
    func named() throws {
        let text = #"{"a":null,"t":"x\n","n":7,"f":false,"y":true,"r":[1, 2],"\u0062":1}"#
        let object = try JSONObject(bytes(text), names: .none)
        #expect(object.member(named: "a") == nil && object.member(named: "b") == nil && object.member(named: "") == nil)
        #expect(object.text("t") == "x\n" && object.text("n") == nil && object.text("tt") == nil)
        #expect(object.number("n") == 7 && object.number("t") == nil)
        #expect(object.flag("f") == false && object.flag("y") == true && object.flag("n") == nil)
        #expect(object.raw("r") == "[1, 2]" && object.raw("a") == nil)
        #expect(object.member(named: "r").flatMap { object.array($0) }?.elements.map(\.kind) == [.number, .number])
        #expect(object.member(named: "t").flatMap { object.array($0) } == nil)
    }

    @Test("Text that is not UTF-8 is recognised")
    func utf8() {
        #expect(JSONText.isUTF8(bytes("aé日😀")))
        for wrong: [UInt8] in [
            [0x80], [0xC3], [0xC0, 0xAF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF],
        ] { #expect(!JSONText.isUTF8(wrong)) }
    }
}
