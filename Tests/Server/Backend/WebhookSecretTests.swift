import Testing

@testable import Backend

@Suite("The secret of events")
struct WebhookSecretTests {
    /// The secret of the vector in the specification.
    static let vector = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    @Test("A secret of 24 to 64 bytes is read, and written as it was")
    func reads() throws {
        for text in [
            Self.vector, "whsec_" + String(repeating: "A", count: 84) + "AA==", WebhookSecret.make().text,
        ] { #expect(try WebhookSecret(text).text == text) }
    }

    @Test(
        "Another text is refused with a reason that does not contain it",
        arguments: [
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "must begin with whsec_"),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "must be base64 with its padding after whsec_"),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa-w", "must be base64 with its padding after whsec_"),
            ("whsec_" + String(repeating: "A", count: 31) + "=", "must have 24 to 64 bytes, not 23"),
            ("whsec_", "must have 24 to 64 bytes, not 0"),
            ("whsec_" + String(repeating: "A", count: 84) + "AAA=", "must have 24 to 64 bytes, not 65"),
        ]
    )
    func refuses(_ text: String, _ reason: String) {
        do throws(WebhookSecret.Fault) {
            _ = try WebhookSecret(text)
            Issue.record("\(text) was accepted")
        } catch { #expect(error.description == reason) }
    }

    @Test("Two new secrets differ, and have 32 bytes")
    func makes() {
        #expect(WebhookSecret.make() != WebhookSecret.make())
        #expect(WebhookSecret.make().key.count == 32)
    }

    @Test("A file has one or two secrets, and lines that do not count")
    func file() throws {
        let (old, new) = (Self.vector, WebhookSecret.make().text)
        #expect(try WebhookSecrets(file: Array(old.utf8)).all.map(\.text) == [old])
        let text = "# since Monday\r\n \(new) \r\n\n\t# before\n\(old)\n"
        #expect(try WebhookSecrets(file: Array(text.utf8)).all.map(\.text) == [new, old])
    }

    @Test(
        "A file that cannot be used is refused with its line, and without its secrets",
        arguments: [
            ("# nothing\n\n", "there is no secret in it"),
            ("\(vector)\nsecret\n", "line 2: a secret must begin with whsec_"),
            (
                "\(vector)\n\(vector)\n\(vector)",
                "there are 3 secrets in it, but at most two sign: the new one and the old one"
            ),
        ]
    )
    func refusesFile(_ text: String, _ reason: String) {
        do throws(WebhookSecrets.Fault) {
            _ = try WebhookSecrets(file: Array(text.utf8))
            Issue.record("the file was accepted")
        } catch { #expect(error.description == reason) }
    }
}
