import Testing

@testable import Backend

@Suite("The signature of an event")
struct WebhookSignatureTests {
    private static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private static let timestamp: Int64 = 1_614_265_330
    private static let body = Array(#"{"test": 2432232314}"#.utf8)
    private static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    private func vector() throws -> WebhookSecrets { WebhookSecrets([try WebhookSecret(WebhookSecretTests.vector)]) }

    @Test("It is that of the vector in the specification")
    func standardVector() throws {
        let header = WebhookSignature.header(
            id: Self.id,
            timestamp: Self.timestamp,
            body: Self.body,
            try vector()
        )
        #expect(header == Self.signature)
    }

    @Test("Two secrets make two signatures, in their order, and either of them is enough for a receiver")
    func twoSecrets() throws {
        let (old, new) = (try vector(), WebhookSecrets([.make()]))
        let both = WebhookSecrets(new.all + old.all)
        let header = WebhookSignature.header(id: Self.id, timestamp: Self.timestamp, body: Self.body, both)
        #expect(header.hasSuffix(" " + Self.signature) && header.split(separator: " ").count == 2)
        for secrets in [old, new, both] { try verify(signatures: header, secrets) }
    }

    @Test("A receiver refuses a delivery without a header, of another time, or that the secret has not signed")
    func refuses() throws {
        let (wrong, late) = (WebhookSignature.Refusal.wrongSignature, Self.timestamp + 301)
        try verify(at: Self.timestamp + 300)
        try verify(at: Self.timestamp - 300)
        try verify(signatures: "v1a,AAAA v1,AAAA \(Self.signature)")
        #expect(throws: WebhookSignature.Refusal.missing("webhook-id")) { try verify(id: nil) }
        #expect(throws: WebhookSignature.Refusal.missing("webhook-id")) { try verify(id: "") }
        #expect(throws: WebhookSignature.Refusal.missing("webhook-timestamp")) { try verify(timestamp: nil) }
        #expect(throws: WebhookSignature.Refusal.missing("webhook-signature")) { try verify(signatures: nil) }
        for text in ["", "-1614265330", "1614265330.0", "9999999999999999999"] {
            #expect(throws: WebhookSignature.Refusal.malformedTimestamp) { try verify(timestamp: text) }
        }
        #expect(throws: WebhookSignature.Refusal.wrongTime(ahead: -301)) { try verify(at: late) }
        #expect(throws: WebhookSignature.Refusal.wrongTime(ahead: 301)) { try verify(at: Self.timestamp - 301) }
        #expect(throws: WebhookSignature.Refusal.noSignature) { try verify(signatures: "v1a,AAAA") }
        #expect(throws: wrong) { try verify(signatures: "v1,AAAA") }
        #expect(throws: wrong) { try verify(id: "msg_other") }
        #expect(throws: wrong) { try verify(timestamp: "1614265331") }
        #expect(throws: wrong) { try verify(body: Self.body + [0x20]) }
        #expect(throws: wrong) { try verify(WebhookSecrets([.make()])) }
    }

    private func verify(
        id: String? = id,
        timestamp: String? = "\(timestamp)",
        signatures: String? = signature,
        body: [UInt8] = body,
        _ secrets: WebhookSecrets? = nil,
        at now: Int64 = timestamp
    ) throws {
        try WebhookSignature.verify(
            id: id,
            timestamp: timestamp,
            signatures: signatures,
            body: body,
            try secrets ?? vector(),
            at: now
        )
    }
}
