import Crypto
import Synchronization
import Testing

@testable import Pushes

@Suite("The VAPID tokens")
struct VAPIDTokensTests {
    /// A clock that the test sets, in milliseconds.
    private final class Clock: Sendable {
        let now = Atomic<Int64>(1_800_000_000_000)
    }

    private func tokens(_ clock: Clock) throws -> VAPIDTokens {
        VAPIDTokens(
            try WebPushConfiguration(key: .generate(), subject: "mailto:ops@example.com") {
                clock.now.load(ordering: .relaxed)
            }
        )
    }

    @Test("A token is kept for each push service, and renewed an hour before its end or when the clock jumps back")
    func renewal() throws {
        let clock = Clock()
        let tokens = try tokens(clock)
        let first = try tokens.authorization(for: "https://a.example")
        #expect(try tokens.authorization(for: "https://a.example") == first)
        #expect(try tokens.authorization(for: "https://b.example") != first)
        clock.now.add(11 * 3_600_000, ordering: .relaxed)
        #expect(try tokens.authorization(for: "https://a.example") == first)
        clock.now.add(1_000, ordering: .relaxed)
        let second = try tokens.authorization(for: "https://a.example")
        #expect(second != first)
        // Its end would now be more than 24 hours away, which services refuse.
        clock.now.subtract(20 * 3_600_000, ordering: .relaxed)
        #expect(try tokens.authorization(for: "https://a.example") != second)
    }

    @Test(
        "Subjects that push services refuse are refused at the start",
        arguments: [
            "", "ops@example.com", "mailto:", "mailto:ops@localhost", "mailto:<ops@example.com>", "http://example.com",
            "https://", "mailto:a@b@example.com",
        ]
    )
    func subjects(_ subject: String) throws {
        #expect(throws: WebPushConfigurationError.malformedSubject) {
            try WebPushConfiguration(key: .generate(), subject: subject) { 0 }
        }
    }
}
