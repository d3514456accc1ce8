import CallCore
import Testing

@Suite("A phone number")
struct PhoneNumberTests {
    @Test(
        "The spellings of a number have one normal form",
        arguments: [
            "+82-10-1234-5678", "821012345678", "+82 10 1234 5678", "82 (10) 1234.5678", "+(82)10-12345678",
            // As address books and keyboards write it.
            "\u{202A}+82 10-1234-5678\u{202C}", "\u{2066}+821012345678\u{2069}",
            "+82\u{A0}10\u{202F}1234\u{2009}5678",
            "+82\u{2010}10\u{2011}1234\u{2013}5678", "+82\u{2212}10\u{FF0D}1234\u{30FC}5678",
            "＋８２（１０）１２３４．５６７８",
            "+٨٢١٠١٢٣٤٥٦٧٨", "+۸۲۱۰۱۲۳۴۵۶۷۸", "+८२१०१२३४५६७८", "+82.10.1234.5678", "+82/10/1234/5678",
            "+82·10・1234•5678",
            "(+82) 10 [1234] 5678", "00821012345678", "00 82-10-1234-5678", "tel:+82-10-1234-5678", "TEL:821012345678",
            "+82 (0)10-1234-5678", "0082 (0) 10 1234 5678", "+82\u{200B}10\u{AD}1234\u{FEFF}5678",
            "\u{200E}+821012345678",
            // With an extension, or what diallers and URIs append.
            "+82-10-1234-5678;ext=5", "tel:+82-10-1234-5678;ext=5", "TEL:82-10-1234-5678;phone-context=+1",
            "tel:+82-10-1234-5678;isub=1411;ext=5", "+821012345678,5", "+821012345678,,5#", "+821012345678;5",
            "+82 10 1234 5678 x5", "+82 10 1234 5678X5", "+821012345678 ext. 5", "+821012345678 Ext 5",
            "+821012345678ext5",
            "+82 10-1234-5678 extension 12", "+82 10-1234-5678 (ext. 5)", "+82 10-1234-5678 #5", "+821012345678p5",
            "+821012345678w5", "+82 10-1234-5678 내선 5", "+82 10-1234-5678 (内線5)", "+82 10-1234-5678；5",
            "+821012345678，５",
            "+82 10-1234-5678 доб. 5", "0082 10 1234 5678 ext: 5", "+82 (0)10 1234 5678;ext=5", "+821012345678,",
            "+821012345678 x 1234567890123456789",
        ]
    )
    func normal(_ text: String) throws {
        #expect(try #require(PhoneNumber(normalizing: text)).text == "821012345678")
    }

    @Test(
        "A text that is no number of 1 to 18 digits without a leading zero has no normal form",
        arguments: [
            "", "+", "-", "0", "010-1234-5678", "+0821", "1234567890123456789", "82+10", "++82", "82a", "1\n", "000",
            "+0082", "0", "00", "(0)10", "(0)", "8²", "８２①", "一二三", "sip:+82", "*67", "#31#82",
            "+82x", "+82 ext", "82 taro", "82 x taro", "82#", "82 next 5", "x5", ";ext=5",
            ",82", "ext. 5", "82x+5", "tel:;phone-context=+82",
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
