import CallCore
import Testing

@Suite("A phone number")
struct PhoneNumberTests {
    @Test(
        "The spellings of a number have one normal form",
        arguments: [
            "+82-10-1234-5678", "821012345678", "+82 10 1234 5678", "82 (10) 1234.5678", "+(82)10-12345678",
        ]
    )
    func normal(_ text: String) throws {
        #expect(try #require(PhoneNumber(normalizing: text)).text == "821012345678")
    }

    @Test(
        "A text that is no number of 1 to 18 digits without a leading zero has no normal form",
        arguments: [
            "", "+", "-", "0", "010-1234-5678", "+0821", "1234567890123456789", "82+10", "++82", "８２", "82a",
            "82\u{A0}10",
            "1\n",
        ]
    )
    func refused(_ text: String) { #expect(PhoneNumber(normalizing: text) == nil) }

    @Test("The smallest and the largest number are read from their digits, and nothing else is")
    func digits() {
        #expect(PhoneNumber(digits: "1".utf8)?.rawValue == 1)
        #expect(PhoneNumber(digits: "999999999999999999".utf8)?.rawValue == PhoneNumber.maximum)
        for text in ["", "0", "01", "+1", "1 ", "-1", "9999999999999999999"] {
            #expect(PhoneNumber(digits: text.utf8) == nil, "\(text)")
        }
        #expect(PhoneNumber(rawValue: 0) == nil && PhoneNumber(rawValue: PhoneNumber.maximum + 1) == nil)
        #expect(PhoneNumber(rawValue: 9).map { $0 < PhoneNumber(rawValue: 10) ?? $0 } == true)
    }
}
