import CallCore
import Testing

@Suite("Text from outside")
struct PrintableTests {
    @Test("Characters that control a terminal, end a line or change the direction of writing are escaped")
    func escaped() {
        #expect("a\u{1B}[2Jb\r\nc\u{0}".printable == #"a\u{1b}[2Jb\u{d}\u{a}c\u{0}"#)
        #expect(
            "\u{7F}\u{80}\u{9F}\u{2028}\u{202E}\u{2066}\u{2069}".printable
                == #"\u{7f}\u{80}\u{9f}\u{2028}\u{202e}\u{2066}\u{2069}"#
        )
    }

    @Test("All other text stays as it is", arguments: ["", "a b~", "é山", "\u{A0}\u{2027}\u{202F}\u{206A}", "👩‍👩‍👧"])
    func kept(_ text: String) {
        #expect(text.printable == text)
    }
}
