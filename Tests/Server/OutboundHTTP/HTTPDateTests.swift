import OutboundHTTP
import Testing

@Suite("A date in an HTTP header")
struct HTTPDateTests {
    @Test(
        "A date is read as seconds since 1970",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
            ("Sat, 21 Nov 2026 08:47:03 GMT", 1_795_250_823),
        ]
    )
    func seconds(_ text: String, _ seconds: Int64) { #expect(HTTPDate.seconds(text) == seconds) }

    @Test(
        "A date in any other form is refused",
        arguments: [
            "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov -994 08:49:37 GMT",
        ]
    )
    func wrong(_ text: String) { #expect(HTTPDate.seconds(text) == nil) }
}
