import Crypto
import Testing

@Suite("What a file in place of a key is")
struct FileKindTests {
    @Test("The files that operators mix up are recognized")
    func recognized() throws {
        let pem = try P256SigningKey.generate().pem()
        let lines = pem.split(separator: "\n")
        let body = lines.dropFirst().dropLast().joined()
        let der = try #require(Base64.decode(body))
        let begin = { (label: String) in "-----BEGIN \(label)-----\nAAAA\n-----END \(label)-----\n" }
        let binary = { (bytes: [UInt8]) in String(decoding: bytes, as: UTF8.self) }
        let member = lines.joined(separator: "\\n")
        let rows = [
            (pem, "a private key (PKCS#8)"), (begin("ENCRYPTED PRIVATE KEY"), "passphrase"),
            (begin("EC PRIVATE KEY"), "SEC 1"), (begin("RSA PRIVATE KEY"), "PKCS#1"),
            (begin("PUBLIC KEY"), "a public key"),
            (begin("CERTIFICATE"), "a certificate"), (begin("CERTIFICATE REQUEST"), "a request for a certificate"),
            (begin("OPENSSH PRIVATE KEY"), "SSH"), ("ssh-ed25519 AAAA me@here", "a public key of SSH"),
            ("{\"type\":\"service_account\",\"private_key\":\"\(member)\"}", "a service account"),
            ("{\"project_info\": {}}", "google-services.json"), ("{\"keys\": [{\"kty\": \"EC\"}]}", "a key set"),
            ("{\"kty\": \"EC\"}", "JWK"),
            (Base64.encode(Array(pem.utf8)), "base64 of a PEM file, which holds a private key"),
            (Base64URL.encode(Array(pem.utf8)), "base64 of a PEM file"),
            (body, "base64 without its first and last line"),
            (lines.dropFirst().dropLast().joined(separator: "\n"), "base64 without its first and last line"),
            (String(decoding: der, as: UTF8.self), "a binary file (DER)"),
            ("0w\u{2}\u{1}\u{1}\u{4} abcdefgh", "a binary file (DER)"),
            (binary([0x30, 0x82, 0x09, 0x81, 2, 1, 3, 0x30, 0x82, 9]), "PKCS#12"),
            (binary([0x30, 0x82, 0xC3, 0xA4, 2, 1, 3, 0x30, 0x82, 9, 1]), "PKCS#12"),
        ]
        for (text, words) in rows {
            let kind = try #require(FileKind(text), "\(words)").description
            #expect(kind.contains(words), "\(kind)")
            #expect(!kind.contains(body.prefix(12)))
        }
        for text in ["", "hello", "a secret of thirty-two bytes....", String(repeating: "x", count: 43)] {
            #expect(FileKind(text) == nil, "\(text)")
        }
    }

    @Test("An error says what the file is and what is wanted")
    func errors() throws {
        let pem = try P256SigningKey.generate().pem()
        let account = "{\"type\": \"service_account\", \"private_key\": \"\(pem.replacing("\n", with: "\\n"))\"}"
        let certificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
        for text in [account, Base64.encode(Array(pem.utf8)), certificate] {
            let kind = try #require(FileKind(text)).description
            for wanted in ["an EC private key on P-256"] {
                let error = #expect(throws: KeyError.self) { try P256SigningKey(pem: text) }
                let words = try #require(error).description
                #expect(words.contains("it is \(kind), but must be \(wanted)"), "\(words)")
            }
        }
        #expect(throws: KeyError.otherKind("a service account of Google (JSON)", wanted: "a certificate in PEM")) {
            try Certificate(pem: account)
        }
        #expect(throws: KeyError.self) { try PublicKey(pem: account) }
    }
}
