import Foundation
import RinglineKit
import Testing

@Suite("A page of the call directory")
struct DirectoryPageTests {
    private func page(_ text: String, _ list: DirectoryList = .identities) throws -> DirectoryPage {
        try DirectoryPage(Data(text.utf8), of: list)
    }

    private func error(_ bytes: [UInt8], _ list: DirectoryList = .identities) -> DirectoryPageError? {
        do {
            _ = try DirectoryPage(Data(bytes), of: list)
            return nil
        } catch { return error }
    }

    @Test("The whole list of identities")
    func identities() throws {
        let page = try page("v7~A_b-c.0\tcomplete\tmore\t12\n+1\tA\n+821012345678\tHanako 花子\n")
        #expect(page.cursor.text == "v7~A_b-c.0" && page.isComplete && page.hasMore && page.number == 12)
        #expect(Array(page) == [.identity(1, label: "A"), .identity(821_012_345_678, label: "Hanako 花子")])
        #expect(page.lineCount == 2 && page.firstNumber == 1 && page.lastNumber == 821_012_345_678)
        #expect(Array(page) == Array(page), "it can be read twice")
    }

    @Test("Changes of both lists")
    func changes() throws {
        #expect(
            Array(try page("c\tchanges\tend\t1\n-5\n+6\tB\n-999999999999999999\n")) == [
                .removal(5), .identity(6, label: "B"), .removal(999_999_999_999_999_999),
            ]
        )
        #expect(Array(try page("c\tchanges\tend\t1\n+5\n-6\n", .blocks)) == [.block(5), .removal(6)])
    }

    @Test("A page without lines")
    func empty() throws {
        let page = try page("c\tcomplete\tend\t1\n")
        #expect(Array(page).isEmpty && page.firstNumber == nil && page.lastNumber == nil && page.lineCount == 0)
    }

    @Test("The bytes may be a part of longer data")
    func slice() throws {
        let data = Data("abcc\tcomplete\tend\t1\n+5\n".utf8)
        #expect(Array(try DirectoryPage(data.dropFirst(3), of: .blocks)) == [.block(5)])
    }

    @Test(
        "A first line of another form",
        arguments: [
            "c\tcomplete\tend\n", "c\tcomplete\tend\t0\n", "c\tcomplete\tend\t01\n", "c\tcomplete\tend\t+1\n",
            "c\tcomplete\tend\t-1\n", "c\tcomplete\tend\t1\t\n", "c\tcomplete\tend\t1 \n", "c\tcomplete\tend\t1\r\n",
            "c\tComplete\tend\t1\n", "c\tcomplete\tlast\t1\n", "\tcomplete\tend\t1\n", "c d\tcomplete\tend\t1\n",
            "c&a\tcomplete\tend\t1\n", "ü\tcomplete\tend\t1\n", "c complete end 1\n", "\n", "{\"error\":\"x\"}\n",
            "c\tcomplete\tend\t99999999999999999999\n", String(repeating: "c", count: 81) + "\tcomplete\tend\t1\n",
            String(repeating: "c", count: 500),
        ]
    )
    func firstLine(_ text: String) {
        #expect(error(Array(text.utf8)) == DirectoryPageError(line: 1, .firstLine))
    }

    @Test("A cursor of 80 characters, the most")
    func longCursor() throws {
        let cursor = String(repeating: "c", count: 80)
        #expect(try page(cursor + "\tcomplete\tmore\t9999999999\n").cursor.text == cursor)
    }

    @Test(
        "A malformed line is named by its number and its rule",
        arguments: [
            ("5\tA\n", .operation), (" +5\tA\n", .operation), ("\n", .operation), ("-5\n", .operation),
            ("+\tA\n", .number), ("+0\tA\n", .number), ("+05\tA\n", .number), ("+1234567890123456789\tA\n", .number),
            ("++5\tA\n", .number), ("+5 \tA\n", .number), ("+5a\tA\n", .number), ("+٣\tA\n", .number),
            ("+5\r\n", .number), ("+5\n", .label), ("+5\t\n", .label), ("+5\tA\tB\n", .label), ("+5\tA\r\n", .label),
            ("+5\t\u{7f}\n", .label), ("+5\t\u{85}\n", .label), ("+5\t\0\n", .label),
            ("+5\t" + String(repeating: "x", count: 65) + "\n", .label),
            ("+5\t" + String(repeating: "é", count: 65) + "\n", .label),
            ("+5\t" + String(repeating: "👩‍👩‍👧", count: 15) + "\n", .label),
            ("+5\t" + String(repeating: "x", count: 300) + "\n", .label),
            ("+5\tA", .lineEnd), ("+5\t", .lineEnd), ("+5", .lineEnd), ("+", .lineEnd),
            ("+3\tA\n", .order), ("+2\tA\n", .order), ("+4\tA\n+4\tB\n", .order),
        ] as [(String, DirectoryPageError.Rule)]
    )
    func malformed(_ line: String, _ rule: DirectoryPageError.Rule) {
        let found = error(Array("c\tcomplete\tend\t1\n+3\tOK\n\(line)".utf8))
        #expect(found?.rule == rule)
        #expect(found?.line == (line.hasPrefix("+4\tA\n") ? 4 : 3))
    }

    @Test(
        "A label of the largest size",
        arguments: [
            String(repeating: "x", count: 64), String(repeating: "花", count: 64), String(repeating: "👩", count: 64),
            String(repeating: "👩‍👩‍👧", count: 14),
        ]
    )
    func longestLabel(_ label: String) throws {
        #expect(Array(try page("c\tcomplete\tend\t1\n+5\t\(label)\n")) == [.identity(5, label: label)])
    }

    @Test(
        "A label that is not UTF-8",
        arguments: [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe8, 0x8a], [0x80], [0xf4, 0x90, 0x80, 0x80]]
            as [[UInt8]]
    )
    func invalidUTF8(_ label: [UInt8]) {
        let bytes = Array("c\tcomplete\tend\t1\n+5\tA".utf8) + label + [10]
        #expect(error(bytes) == DirectoryPageError(line: 2, .label))
    }

    @Test("A blocked number and a removal have no label")
    func unexpectedLabel() {
        #expect(error(Array("c\tcomplete\tend\t1\n+5\tA\n".utf8), .blocks) == DirectoryPageError(line: 2, .label))
        #expect(error(Array("c\tchanges\tend\t1\n-5\tA\n".utf8)) == DirectoryPageError(line: 2, .label))
    }

    @Test("A page that was cut off anywhere but behind a line is no page, and nothing traps")
    func cutOff() throws {
        let bytes = Array("c.1\tchanges\tend\t1\n+5\tA花\n-6\n+70\tB\n".utf8)
        for count in 0..<bytes.count {
            let error = error(Array(bytes[..<count]))
            let isBehindLine = count > 0 && bytes[count - 1] == 10
            #expect((error == nil) == isBehindLine, "after \(count) bytes: \(String(describing: error))")
            // The last two bytes of a character are missing: it is cut off, and not malformed.
            if let error { #expect(error.rule == .lineEnd) }
        }
    }

    @Test("No bytes trap: each byte of a page replaced by each other one")
    func anyByte() throws {
        let bytes = Array("c.1\tchanges\tend\t1\n+5\tA花\n-6\n+70\tB\n".utf8)
        for index in bytes.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = bytes
                changed[index] = byte
                for list in DirectoryList.allCases {
                    guard let page = try? DirectoryPage(Data(changed), of: list) else { continue }
                    let numbers = page.map(\.number)
                    #expect(numbers.count == page.lineCount && numbers == Set(numbers).sorted())
                }
            }
        }
    }

    @Test("The error contains neither a number nor a label")
    func description() {
        #expect(String(describing: DirectoryPageError(line: 17, .order)) == "line 17: order")
    }
}
