import COpenSSL
import Crypto
import Identity

/// A key that signs for tests, and the source from which a verifier gets the key to verify with.
struct Signer: Sendable, CustomStringConvertible {
    let algorithm: String
    let source: TokenKeySource
    let sign: @Sendable ([UInt8]) -> [UInt8]

    var description: String { algorithm }

    /// Returns a token with exactly this header and payload, signed by this key whatever the header names.
    func token(header: String, payload: String) -> String {
        token(headerPart: Base64URL.encode(Array(header.utf8)), payloadPart: Base64URL.encode(Array(payload.utf8)))
    }

    func token(headerPart: String, payloadPart: String) -> String {
        let signed = "\(headerPart).\(payloadPart)"
        return "\(signed).\(Base64URL.encode(sign(Array(signed.utf8))))"
    }

    /// Returns a token with an ordinary header.
    func token(payload: String) -> String { token(header: #"{"alg":"\#(algorithm)","typ":"JWT"}"#, payload: payload) }

    func verifier(_ rules: TokenRules = TokenRules()) throws -> TokenVerifier {
        try TokenVerifier(keys: [source], rules: rules)
    }
}

/// The keys that all tests of a run share.
struct TestKeys: Sendable {
    static let now: Int64 = 1_800_000_000
    static let payload = #"{"sub":"11","name":"山田太郎","iat":1800000000,"exp":1800003600,"jti":"a"}"#
    static let secret = Array("a secret of thirty-two bytes....".utf8)

    let hs256: Signer
    let rs256: Signer
    let es256: Signer
    let rsaPEM: String
    let ecPEM: String
    let ecKey: P256SigningKey
    let rsaKey: RSATestKey

    /// The keys, made only once because an RSA key takes a while to make.
    static let shared = Result { try TestKeys() }
    static var all: [Signer] {
        get throws { [try shared.get().hs256, try shared.get().rs256, try shared.get().es256] }
    }

    private init() throws {
        let ecKey = try P256SigningKey.generate()
        let rsaKey = try RSATestKey(bits: 2048)
        self.ecKey = ecKey
        self.rsaKey = rsaKey
        ecPEM = try ecKey.publicKey.pem()
        rsaPEM = try rsaKey.publicKey.pem()
        hs256 = Signer(algorithm: "HS256", source: .secret(Self.secret)) { HMACSHA256.code(of: $0, key: Self.secret) }
        rs256 = Signer(algorithm: "RS256", source: .publicKey(pem: rsaPEM)) { rsaKey.sign($0) }
        // If signing fails, the test sees a token that is not accepted.
        es256 = Signer(algorithm: "ES256", source: .publicKey(pem: ecPEM)) { (try? ecKey.sign($0)) ?? [] }
    }
}

/// An RSA private key, for tests only: the server verifies RS256 and never signs with it.
final class RSATestKey: @unchecked Sendable {
    struct Failure: Error {}

    private let key: OpaquePointer

    init(bits: Int32) throws {
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var pointer: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) == 1,
            EVP_PKEY_generate(context, &pointer) == 1, let pointer
        else { throw Failure() }
        key = pointer
    }

    deinit { EVP_PKEY_free(key) }

    /// Signs by RSASSA-PKCS1-v1_5, or by another padding and digest for forgeries; returns no bytes if it fails.
    func sign(_ message: [UInt8], digest: String = "SHA256", padding: Int32 = RSA_PKCS1_PADDING) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var keyContext: OpaquePointer?
        guard EVP_DigestSignInit_ex(context, &keyContext, digest, nil, nil, key, nil) == 1,
            EVP_PKEY_CTX_set_rsa_padding(keyContext, padding) == 1
        else { return [] }
        var signature = [UInt8](repeating: 0, count: 1024)
        var count = signature.count
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return [] }
        return Array(signature.prefix(count))
    }

    var publicKey: PublicKey {
        get throws { try PublicKey(rsaModulus: number("n"), exponent: number("e")) }
    }

    /// Returns the text that a PEM writer of OpenSSL makes of the key.
    func pem(_ write: (OpaquePointer?, OpaquePointer) -> Int32) -> String {
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        guard write(bio, key) == 1 else { return "" }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(bio))
        BIO_read(bio, &bytes, Int32(bytes.count))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the modulus (`n`) or the exponent (`e`), big endian.
    func number(_ name: String) throws -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1 else { throw Failure() }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
        BN_bn2bin(number, &bytes)
        return bytes
    }
}
