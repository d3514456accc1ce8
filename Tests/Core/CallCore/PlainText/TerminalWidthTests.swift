import CallCore
import Testing

@Suite("The width of text on a terminal")
struct TerminalWidthTests {
    @Test(
        "East Asian characters and emoji have two columns, and marks have none of their own",
        arguments: [("", 0), ("a b", 3), ("山田", 4), ("한", 2), ("é", 1), ("e\u{301}", 1), ("👩‍👩‍👧", 2)]
    )
    func width(_ text: String, _ columns: Int) {
        #expect(text.terminalWidth == columns)
    }
}
