import CallCore
import CallWire
import Testing

@Suite("An update of the call directory")
struct NumberUpdateTests {
    private func read(_ text: String) -> Result<[String], WireError> {
        Result { () throws(WireError) in
            try NumberUpdate(body: Array(text.utf8)).lines.map { "\($0.number.text) \($0.label ?? "removed")" }
        }
    }

    private func message(_ text: String) -> String? {
        if case .failure(let error) = read(text) { error.message } else { nil }
    }

    @Test("Lines are read in any order, with or without a line break at the end, and sorted by number")
    func lines() {
        #expect(read("+20\tTwo\n-3\n+1\tÉlan 名前\n") == .success(["1 Élan 名前", "3 removed", "20 Two"]))
        #expect(read("-3") == .success(["3 removed"]))
        #expect(read("") == .success([]))
        #expect(read("\n") == .success([]), "an empty file of one line break")
        #expect(read("+1\t +-") == .success(["1  +-"]), "a name may begin with anything")
    }

    @Test(
        "A wrong line is refused by its number",
        arguments: [
            ("+1\ta\n\n", "line 2: must begin with + or -"), ("1\ta", "line 1: must begin with + or -"),
            ("+1\ta\n+2", "line 2: must have a tab and a name after the number"),
            ("-0", "line 1: the number must be 1 to 18 digits, the first of them not 0"),
            ("-1\ta", "line 1: the number must be 1 to 18 digits, the first of them not 0"),
            ("+01\ta", "line 1: the number must be 1 to 18 digits, the first of them not 0"),
            ("+1\t", "line 1: the name must have 1 to 64 characters, at most 256 bytes"),
            ("+1\ta\tb", "line 1: the name must have no control characters"),
            ("+1\ta\r\n", "line 1: ends with a carriage return; a line ends with a line feed alone"),
            ("-1\r", "line 1: ends with a carriage return; a line ends with a line feed alone"),
            ("+1\ta\rb", "line 1: the name must have no control characters"),
            ("+1\ta\u{85}", "line 1: the name must have no control characters"),
            ("+1\t \u{200B}", "line 1: the name must have a visible character"),
            ("+1\t ", "line 1: the name must have a visible character"),
            ("+1\t\u{3164}", "line 1: the name must have a visible character"),
            (
                "+1\ta\u{202E}b",
                "line 1: the name must have no line breaks, overrides of the direction of writing and open isolates"
            ),
            (
                "+1\ta\u{2066}b",
                "line 1: the name must have no line breaks, overrides of the direction of writing and open isolates"
            ),
            (
                "+1\ta\u{2028}b",
                "line 1: the name must have no line breaks, overrides of the direction of writing and open isolates"
            ),
            ("+0082\ta", "line 1: the number must be 1 to 18 digits, the first of them not 0"),
            ("+82\ta\n+8 2\tb", "line 2: the number is on line 1 already"),
            ("+5\ta\n+6\tb\n-5\n", "line 3: the number is on line 1 already"),
        ]
    )
    func refused(_ text: String, _ expected: String) { #expect(message(text) == expected) }

    @Test("A name may have 64 characters and 256 bytes, and must be UTF-8")
    func names() {
        #expect(message("+1\t" + String(repeating: "é", count: 64)) == nil)
        #expect(message("+1\t" + String(repeating: "é", count: 65)) != nil)
        #expect(message("+1\t" + String(repeating: "\u{1F4DE}", count: 64)) == nil)
        #expect(message("+1\t" + String(repeating: "\u{1F4DE}", count: 64) + "a") != nil)
        #expect(throws: WireError.invalid(named: "line 1", "the name must be valid UTF-8")) {
            try NumberUpdate(body: Array("+1\ta".utf8) + [0xFF])
        }
    }

    @Test(
        "A number may be written as in an address book, in a line that adds it and in one that removes it",
        arguments: [
            "821012345678", "82 10-1234-5678", "82\u{A0}10\u{2010}1234\u{2011}5678", "８２１０１２３４５６７８",
            "٨٢١٠١٢٣٤٥٦٧٨",
        ]
    )
    func spellings(_ written: String) throws {
        let number = try #require(PhoneNumber(rawValue: 821_012_345_678))
        for (line, label) in [("+\(written)\tAda\n", "Ada"), ("-\(written)\n", nil)] {
            #expect(try NumberUpdate(body: Array(line.utf8)).lines == [.init(number: number, label: label)])
        }
    }

    @Test("An update may have 10,000 lines and no more")
    func limit() {
        let lines = (1...10_001).map { "-\($0)\n" }
        #expect(message(lines.dropLast().joined()) == nil)
        #expect(message(lines.joined()) == "at most 10000 lines")
    }

    @Test("A request to block names a number or a user, not both")
    func blocked() throws {
        func read(_ text: String) -> Result<RequestBody.Blocked, WireError> {
            Result { () throws(WireError) in try RequestBody.blocked(in: Array(text.utf8)) }
        }
        let number = try #require(PhoneNumber(rawValue: 821_012_345_678))
        let user = try #require(UserID("11"))
        #expect(read(#"{"number":"+82-10-1234-5678"}"#) == .success(.number(number)))
        #expect(read(#"{"userId":"11","number":null}"#) == .success(.user(user)))
        for body in [#"{"userId":"11","number":"82"}"#, #"{"number":"010"}"#, #"{"number":82}"#] {
            guard case .failure(let error) = read(body) else {
                Issue.record("\(body) was accepted")
                continue
            }
            #expect(error.field == "number")
        }
        // Where a block is removed, this id means the number 82.
        guard case .failure(let error) = read(#"{"userId":"number:82"}"#) else {
            Issue.record("the id of a number was blocked as a user's")
            return
        }
        #expect(error.field == "userId")
        #expect(
            String(decoding: BlockBody.list([user], [number], asIntegers: true), as: UTF8.self)
                == #"[{"id":11,"user_id":11},{"id":"number:821012345678","number":"821012345678"}]"#
        )
    }
}
