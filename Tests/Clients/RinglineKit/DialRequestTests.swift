import CallClient
import CallCore
import Foundation
import RinglineKit
import Testing

@Suite("A call that something outside the app asks for")
struct DialRequestTests {
    @Test(
        "A number is read as people write it, of its own kind or with a leading +",
        arguments: [
            ("+82 10-1234-5678", CallClient.HandleType.generic, "+821012345678"),
            ("\u{202A}+82 10-1234-5678\u{202C}", .generic, "+821012345678"),
            ("+82\u{A0}10\u{A0}1234\u{A0}5678", .phoneNumber, "+821012345678"),
            ("010-1234-5678", .phoneNumber, "01012345678"), ("010-1234-5678", .generic, "010-1234-5678"),
            (" 11 ", .generic, "11"), ("a@example.com", .emailAddress, "a@example.com"),
        ]
    )
    func numbers(_ text: String, _ type: CallClient.HandleType, _ user: String) {
        #expect(DialRequest(handle: text, handleType: type)?.to.text == user)
        #expect(DialRequest(handle: text, handleType: type)?.account == nil)
    }

    @Test("A handle without a user id is no request", arguments: ["", " ", "Taro Yamada", "+", "11 · 10 · 9", " · 10"])
    func none(_ text: String) { #expect(DialRequest(handle: text) == nil || text == "+") }

    @Test("A handle with an account names both, and one whose account is no id names the user alone")
    func account() {
        let request = DialRequest(handle: "11 · 10", hasVideo: true)
        #expect(request?.to.text == "11" && request?.account?.text == "10" && request?.hasVideo == true)
        #expect(DialRequest(handle: "11 · a b")?.account == nil)
    }

    @Test("A link with a number, with or without its plus sign escaped, calls that number")
    func links() throws {
        for text in [
            "tel:+82-10-1234-5678", "myapp:%2B821012345678", "https://example.com/call/+82%2010%201234%205678",
        ] {
            let url = try #require(URL(string: text))
            #expect(DialRequest(url: url)?.to.text == "+821012345678", "\(text)")
        }
    }
}
