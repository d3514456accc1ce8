import COpenSSL
import Crypto
import Testing

@Suite("Keys")
struct KeyTests {
    @Test("A P-256 key survives PEM, and its public half verifies what its private half signs")
    func ecPEM() throws {
        let key = try P256SigningKey.generate()
        let again = try P256SigningKey(pem: try key.pem())
        let signature = try again.sign([1, 2, 3])
        #expect(signature.count == 64)
        let publicKey = try PublicKey(pem: try key.publicKey.pem())
        #expect(publicKey.algorithm == .es256)
        #expect(publicKey.isValid(signature, for: [1, 2, 3]))
        #expect(!publicKey.isValid(signature, for: [1, 2]))
        #expect(try !P256SigningKey.generate().publicKey.isValid(signature, for: [1, 2, 3]))
    }

    @Test("Signatures keep the leading zeros of short numbers")
    func shortNumbers() throws {
        let key = try P256SigningKey.generate()
        // About one signature in 128 has a leading zero byte in r or s.
        for round in 0..<600 {
            let message = [UInt8(round >> 8), UInt8(round & 255)]
            let signature = try key.sign(message)
            #expect(signature.count == 64 && key.publicKey.isValid(signature, for: message))
        }
    }

    @Test("An RSA private key signs what its public half verifies, and other keys are refused")
    func rsaSigning() throws {
        let keys = try TestKeys.shared.get()
        let pem = keys.rsaKey.pem { PEM_write_bio_PKCS8PrivateKey($0, $1, nil, nil, 0, nil, nil) }
        let signature = try RSASigningKey(pem: pem).sign([1, 2, 3])
        #expect(signature == keys.rsaKey.sign([1, 2, 3]) && signature.count == 256)
        #expect(try keys.rsaKey.publicKey.isValid(signature, for: [1, 2, 3]))
        #expect(throws: KeyError.publicKey) { try RSASigningKey(pem: keys.rsaPEM) }
        let notRSA = KeyError.otherKind("an EC key on P-256", wanted: "an RSA private key")
        #expect(throws: notRSA) { try RSASigningKey(pem: keys.ecKey.pem()) }
        let notP256 = KeyError.otherKind("an RSA key", wanted: "an EC private key on P-256")
        #expect(throws: notP256) { try P256SigningKey(pem: pem) }
        #expect(throws: KeyError.notPEM) { try RSASigningKey(pem: "no key") }
        let short = try RSATestKey(bits: 1_024).pem { PEM_write_bio_PKCS8PrivateKey($0, $1, nil, nil, 0, nil, nil) }
        #expect(throws: KeyError.keyLength(1_024)) { try RSASigningKey(pem: short) }
    }

    @Test("An RSA public key is read from both forms of PEM, from a certificate and from its numbers")
    func rsaPEM() throws {
        let keys = try TestKeys.shared.get()
        let signature = keys.rsaKey.sign([1, 2, 3])
        let pkcs1 = keys.rsaKey.pem { bio, key in
            // OpenSSL's older function for "RSA PUBLIC KEY" needs a key of the older type; the encoder does not.
            let context = OSSL_ENCODER_CTX_new_for_pkey(key, 0x82, "PEM", "type-specific", nil)
            defer { OSSL_ENCODER_CTX_free(context) }
            return OSSL_ENCODER_to_bio(context, bio)
        }
        #expect(pkcs1.hasPrefix("-----BEGIN RSA PUBLIC KEY-----"))
        let certificate = keys.rsaKey.pem { bio, key in
            let certificate = X509_new()
            defer { X509_free(certificate) }
            X509_set_pubkey(certificate, key)
            ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1)
            X509_gmtime_adj(X509_getm_notBefore(certificate), 0)
            X509_gmtime_adj(X509_getm_notAfter(certificate), 60)
            guard X509_sign(certificate, key, EVP_sha256()) > 0 else { return 0 }
            return PEM_write_bio_X509(bio, certificate)
        }
        for pem in [keys.rsaPEM, pkcs1, certificate, certificate + certificate, "text before\n" + keys.rsaPEM] {
            let key = try PublicKey(pem: pem)
            #expect(key.algorithm == .rs256 && key.isValid(signature, for: [1, 2, 3]))
        }
    }

    @Test("A key that has lost its line ends is read as if it had them")
    func withoutLineEnds() throws {
        let keys = try TestKeys.shared.get()
        let key = try keys.ecKey.pem()
        let body = key.split(separator: "\n")
        let lost = [
            key.replacing("\n", with: " "), key.replacing("\n", with: ""), key.replacing("\n", with: "\\n"),
            key.replacing("\n", with: "\\r\\n"), "\"\(key.replacing("\n", with: "\\n"))\"", "\u{FEFF}" + key,
            key.replacing("\n", with: "\r"), body.joined(separator: "\n    "), "KEY=" + key.replacing("\n", with: " "),
        ]
        for pem in lost { #expect(throws: Never.self, "\(pem.debugDescription)") { try P256SigningKey(pem: pem) } }
        let public2 = (keys.ecPEM + keys.rsaPEM).replacing("\n", with: " ")
        #expect(throws: KeyError.several) { try PublicKey(pem: public2) }
        let cut = ["-----BEGIN PRIVATE KEY-----", String(key.prefix(60)), key.replacing("-----END", with: "----END")]
        for pem in cut { #expect(throws: KeyError.damagedPEM) { try P256SigningKey(pem: pem) } }
    }

    @Test("A key that is not of the wanted kind is refused, and the error gives the reason")
    func refused() throws {
        let keys = try TestKeys.shared.get()
        let rsaPrivate = keys.rsaKey.pem { PEM_write_bio_PKCS8PrivateKey($0, $1, nil, nil, 0, nil, nil) }
        let locked = keys.rsaKey.pem { PEM_write_bio_PKCS8PrivateKey($0, $1, EVP_aes_256_cbc(), "pass", 4, nil, nil) }
        let weak = try RSATestKey(bits: 1024).pem { PEM_write_bio_PUBKEY($0, $1) }
        let ecPrivate = try keys.ecKey.pem()
        let broken = keys.ecPEM.replacing("\n-----END", with: "AAAA\n-----END")
        let publicErrors: [(String, KeyError)] = [
            ("", .notPEM), ("hello", .notPEM), ("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", .damagedPEM),
            (rsaPrivate, .privateKey), (ecPrivate, .privateKey), (locked, .privateKey), (weak, .keyLength(1024)),
            (keys.rsaPEM + keys.ecPEM, .several),
        ]
        for (pem, error) in publicErrors { #expect(throws: error, "\(error)") { try PublicKey(pem: pem) } }
        #expect(throws: KeyError.self) { try PublicKey(pem: broken) }
        for (name, curve) in [("P-384", "secp384r1"), ("secp256k1", "secp256k1")] {
            let wanted = "a public key, EC on P-256 or RSA"
            #expect(throws: KeyError.otherKind("an EC key on \(curve)", wanted: wanted)) {
                try PublicKey(pem: try Self.ecPEM(on: name))
            }
        }
        let privateErrors: [(String, KeyError)] = [
            ("", .notPEM), (keys.ecPEM, .publicKey), (keys.rsaPEM, .publicKey), (locked, .encrypted),
            (rsaPrivate, .otherKind("an RSA key", wanted: "an EC private key on P-256")),
            (ecPrivate + ecPrivate, .several),
        ]
        for (pem, error) in privateErrors { #expect(throws: error, "\(error)") { try P256SigningKey(pem: pem) } }
    }

    @Test("A text without a certificate and a malformed certificate are refused, and the error says which")
    func certificates() throws {
        let keys = try TestKeys.shared.get()
        let malformed = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
        let errors: [(String, KeyError)] = [
            ("hello", .notPEM), (malformed, .invalidCertificate),
            (keys.ecPEM, .otherKind("a public key", wanted: "a certificate in PEM")),
        ]
        for (pem, error) in errors { #expect(throws: error, "\(error)") { try Certificate(pem: pem) } }
    }

    @Test("Numbers that do not form a key are refused")
    func numbers() throws {
        let keys = try TestKeys.shared.get()
        let (n, e) = (try keys.rsaKey.number("n"), try keys.rsaKey.number("e"))
        let zeros = [UInt8](repeating: 0, count: 32)
        for (x, y) in [(zeros, zeros), (zeros, Array(1...32)), ([], []), (Array(1...31), Array(1...33))] {
            #expect(throws: KeyError.invalid) { try PublicKey(p256X: x, y: y) }
        }
        for exponent in [[], [0], [1], [2], [0, 0], [UInt8](repeating: 255, count: 9)] {
            #expect(throws: KeyError.self, "\(exponent)") { try PublicKey(rsaModulus: n, exponent: exponent) }
        }
        #expect(throws: KeyError.keyLength(2040)) { try PublicKey(rsaModulus: Array(n.prefix(255)), exponent: e) }
        #expect(throws: KeyError.self) { try PublicKey(rsaModulus: [], exponent: e) }
        #expect(throws: KeyError.self) { try PublicKey(rsaModulus: [UInt8](repeating: 255, count: 2000), exponent: e) }
    }

    @Test("Nothing is left in OpenSSL's error queue, which TLS reads on the same thread")
    func errorQueue() throws {
        let keys = try TestKeys.shared.get()
        ERR_clear_error()
        let key = try PublicKey(pem: keys.rsaPEM)
        _ = key.isValid([1, 2, 3], for: [1])
        _ = keys.ecKey.publicKey.isValid([UInt8](repeating: 0, count: 64), for: [1])
        #expect(throws: KeyError.self) { try PublicKey(pem: "nothing") }
        #expect(throws: KeyError.self) { try P256SigningKey(pem: keys.rsaPEM) }
        #expect(throws: KeyError.self) { try PublicKey(p256X: [], y: []) }
        #expect(ERR_peek_error() == 0)
    }

    @Test("Several threads can use a key at the same time")
    func threads() async throws {
        let keys = try TestKeys.shared.get()
        let ec = keys.ecKey
        let rsa = try PublicKey(pem: keys.rsaPEM)
        let rsaSignature = keys.rsaKey.sign([9])
        let failures = await withTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    (0..<50).count { round in
                        let message = [UInt8(task), UInt8(round)]
                        // A failure to sign counts as an invalid signature.
                        let signature = (try? ec.sign(message)) ?? []
                        return !ec.publicKey.isValid(signature, for: message) || !rsa.isValid(rsaSignature, for: [9])
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(failures == 0)
    }

    /// Returns the public key of a new key pair on a curve that is not supported.
    private static func ecPEM(on curve: String) throws -> String {
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, curve) == 1,
            EVP_PKEY_generate(context, &key) == 1
        else { throw RSATestKey.Failure() }
        defer { EVP_PKEY_free(key) }
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        PEM_write_bio_PUBKEY(bio, key)
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(bio))
        BIO_read(bio, &bytes, Int32(bytes.count))
        return String(decoding: bytes, as: UTF8.self)
    }
}
