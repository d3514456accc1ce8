import CallCore
import Logging
import Testing

@testable import ServerLog

@Suite("Redaction by type")
struct RedactionTests {
    @Test(
        "In a text from outside everything that looks like a secret, an address or a description is replaced",
        arguments: [
            ("the token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMCJ9.abc is bad", "the token [token] is bad"),
            ("Bearer eyJh", "Bearer [token]"),
            ("token=\(String(repeating: "ab", count: 32))!", "token=[secret]!"),
            ("act AQVjLTEyMwIxMAIxMQdpcGhvbmUtYQAAAAAAAAABAAABi8_q1AAx", "act [secret]"),
            ("from 203.0.113.7:443, or ::ffff:10.0.0.1", "from [address], or [address]"),
            ("at [2001:db8::1]:80 and ::1 and fe80::1", "at [[address]]:80 and [address] and [address]"),
            ("2001:db8:0:0:0:0:0:1", "[address]"),
            ("o v=0 o=- 1 IN IP4", "[description]"),
            ("candidate:1 1 udp 2130706431 x", "[description]"),
            ("a=ice-ufrag:abcd", "[description]"),
        ]
    )
    func foreign(_ text: String, _ expected: String) {
        #expect(UntrustedText(text).description == expected)
    }

    @Test(
        "An ordinary text stays as it is",
        arguments: [
            "BadDeviceToken", "certificate has expired at 19:12:44.215", "SQLite 3.40.1: disk I/O error",
            "/var/lib/ringline/ringline.sqlite: cannot be opened", "39f2ba8b-ca8e-44ce-9c66-c320fe41aaad",
            "com.example.chat.voip", "cannot resolve the host name", "1.0.0", "error: 10",
        ]
    )
    func ordinary(_ text: String) {
        #expect(UntrustedText(text).description == text)
    }

    @Test("A text from outside can forge no log line, and is cut at its limit")
    func printable() {
        #expect(UntrustedText("a\nb\u{1B}[2J").description == "a\\u{a}b\\u{1b}[2J")
        #expect(UntrustedText(String(repeating: "a ", count: 1_000)).description.utf8.count == UntrustedText.limit)
    }

    @Test("Only words of the server's routes are shown of a path")
    func paths() {
        #expect(RequestPath("/api/calls/eyJh.b.c/timeline").description == "/api/calls/*/timeline")
        #expect(RequestPath("/ws").description == "/ws")
        #expect(RequestPath("/socket.io/").description == "/socket.io/")
        #expect(RequestPath("/10.0.0.1/../x?y").description == "/*/*/*")
        #expect(RequestPath("").description == "")
        #expect(RequestPath(String(repeating: "/api", count: 1_000)).description.utf8.count == 32)
    }

    @Test("A push token is cut to its beginning, an unknown method is hidden, and ids have the form of the protocol")
    func others() {
        #expect(PushTokenStart(String(repeating: "ab", count: 32)).description == "ababab…")
        #expect(RequestMethod("POST").description == "POST" && RequestMethod("eyJ").description == "*")
        #expect(ConnectionNumber(4_294_967_297).description == "s_1z141z5")
        #expect(RequestNumber(35).description == "r_z")
    }

    @Test("A line below the threshold builds no field; a line above it has every field that is not `nil`")
    func thresholds() {
        let book = Book()
        let threshold = LogThreshold(.debug)
        let log = ServerLog(Logger(label: "test") { _ in book }, threshold: threshold)
        var built = 0
        func field() -> LogField {
            built += 1
            return .seq(7)
        }
        log.trace("not written", [field()])
        #expect(built == 0 && book.lines.isEmpty && !log.isOn(.trace) && log.isOn(.debug))
        log.debug("written", [field(), nil, .epoch(2)])
        #expect(built == 1 && book.lines == ["debug written call.epoch=2 call.seq=7"])
        threshold.move(by: -1)
        log.trace("written, too")
        log.warning(about: OperatorText("the secret of --x is short"))
        #expect(book.lines.dropFirst() == ["trace written, too ", "warning the secret of --x is short "])
    }

    @Test("Of the lines that strangers cause, few are written, and a sum says how many were left out")
    func limited() {
        let book = Book()
        let log = ServerLog(Logger(label: "test") { _ in book })
        for number in 0..<1_000 as Range<UInt64> { log.limited(level: .error, "probed", of: nil, [.seq(number)]) }
        let written = book.lines.count
        // A minute of the limit may end meanwhile.
        #expect((10...20).contains(written) && log.suppressed == UInt64(1_000 - written))
        log.limited(level: .warning, "probed", of: nil)
        log.writeSums(isLast: true)
        #expect(book.lines.dropFirst(written) == ["warning probed ", "error probed log.suppressed=\(1_000 - written)"])
    }

    @Test("Every key is one lower-case word, or two with a point between them, and no key occurs twice")
    func keys() {
        for key in LogKey.allCases { #expect(key.rawValue.contains(/^[a-z]+(\.[a-z]+)?$/), "\(key.rawValue)") }
        #expect(Set(LogKey.allCases.map(\.rawValue)).count == LogKey.allCases.count)
    }
}

/// Keeps the lines of a log that one thread writes.
private final class Book: LogHandler, @unchecked Sendable {
    var lines: [String] = []
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        lines.append("\(event.level) \(event.message) \(fields.joined(separator: " "))")
    }
}
