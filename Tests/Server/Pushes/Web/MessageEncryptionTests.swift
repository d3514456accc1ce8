import CallPorts
import Crypto
import Testing

@testable import Pushes

@Suite("A Web Push message")
struct MessageEncryptionTests {
    /// The keys and the message of RFC 8291, section 5.
    private enum Example {
        static let message = Array("When I grow up, I want to be a watermelon".utf8)
        static let serverPrivate = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
        static let serverPublic =
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
        static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
        static let subscription = WebPushSubscription(
            endpoint: "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
            p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            auth: "BTBZMqHH6r4Tts7J_aSIgg"
        )
        static let encrypted =
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    }

    /// Returns a private key from its number and its point, as PEM (RFC 5915).
    private func key(_ number: String, _ point: String) throws -> P256AgreementKey {
        let number = try #require(Base64URL.decode(number))
        let point = try #require(Base64URL.decode(point))
        let der: [UInt8] =
            [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20] + number
            + [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0xA1, 0x44, 0x03, 0x42, 0x00]
            + point
        return try P256AgreementKey(
            pem: "-----BEGIN EC PRIVATE KEY-----\n\(Base64.encode(der))\n-----END EC PRIVATE KEY-----\n"
        )
    }

    @Test("The example of RFC 8291 is encrypted byte for byte")
    func example() throws {
        let encrypted = try MessageEncryption.encrypt(
            Example.message,
            for: Example.subscription,
            salt: try #require(Base64URL.decode(Example.salt)),
            key: try key(Example.serverPrivate, Example.serverPublic),
            isPadded: false
        )
        #expect(Base64URL.encode(encrypted) == Example.encrypted)
    }

    @Test("A message has one of four sizes, the largest of which is a record of 4,096 bytes")
    func paddedSizes() throws {
        for (count, size) in [
            (0, 1_024), (1_024, 1_024), (1_025, 2_048), (3_000, 3_072), (3_073, 3_993), (3_993, 3_993),
        ] {
            let encrypted = try MessageEncryption.encrypt(
                [UInt8](repeating: 7, count: count),
                for: Example.subscription,
                salt: SecureRandom.bytes(16),
                key: .generate()
            )
            #expect(encrypted.count == 86 + size + 1 + 16, "\(count) bytes")
        }
    }

    @Test("Keys that are no point, or too short, encrypt nothing")
    func malformedKeys() throws {
        let offCurve = "BA" + String(repeating: "A", count: 85)
        for (p256dh, auth) in [
            (offCurve, Example.subscription.auth), ("", Example.subscription.auth),
            (Example.subscription.p256dh, "AAAA"), (Example.subscription.p256dh, "not base64url!"),
        ] {
            var subscription = Example.subscription
            subscription.p256dh = p256dh
            subscription.auth = auth
            #expect(throws: KeyError.self) {
                try MessageEncryption.encrypt([1], for: subscription, salt: SecureRandom.bytes(16), key: .generate())
            }
        }
    }
}

@Suite("The topic of a Web Push message")
struct TopicTests {
    private func topic(_ call: String, auth: String) -> String {
        WebPushProvider.topic(
            of: call,
            WebPushSubscription(endpoint: "https://fcm.googleapis.com/1", p256dh: "B", auth: auth)
        )
    }

    @Test("It is the same for all messages of a call to a browser, and says nothing without the browser's secret")
    func keyed() {
        let one = topic("6f9c5c3e-0000-5000-8000-000000000000", auth: "BTBZMqHH6r4Tts7J_aSIgg")
        #expect(one == topic("6f9c5c3e-0000-5000-8000-000000000000", auth: "BTBZMqHH6r4Tts7J_aSIgg"))
        #expect(one != topic("6f9c5c3e-0000-5000-8000-000000000001", auth: "BTBZMqHH6r4Tts7J_aSIgg"))
        #expect(one != topic("6f9c5c3e-0000-5000-8000-000000000000", auth: "AAAAAAAAAAAAAAAAAAAAAA"))
        #expect(one.utf8.count == 32)
    }
}
