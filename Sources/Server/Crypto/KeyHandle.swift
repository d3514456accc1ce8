import COpenSSL

/// The owner of one `EVP_PKEY`.
final class KeyHandle: Sendable {
    // OpenSSL lets any number of threads use one key at the same time, as long as no thread changes it; no code here
    // changes a key (`man 7 openssl-threads`).
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes ownership of the key; nil if there is no key.
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }

    /// Reads a private key from a PEM text: PKCS#8 (`PRIVATE KEY`) or `label`, without a passphrase.
    ///
    /// - Parameters:
    ///   - pem: the text.
    ///   - label: the label of the older form of this kind of key.
    ///   - wanted: the kind of key in words, for the error.
    ///   - isWanted: whether a key is of this kind.
    /// - Throws: ``KeyError`` if there is no PEM, an encrypted key, a public key, another kind of key, or a public half
    ///   that does not belong to the private half.
    convenience init(
        privatePEM pem: String,
        _ label: String,
        _ wanted: String,
        if isWanted: (KeyHandle) -> Bool
    ) throws(KeyError) {
        let pointer = try withoutErrorQueue { () throws(KeyError) in
            let block = try PEM(pem, wanted: "\(wanted) in PEM")
            switch block.label {
            case "PRIVATE KEY", label: break
            case "ENCRYPTED PRIVATE KEY": throw .encrypted
            case "PUBLIC KEY", "RSA PUBLIC KEY": throw .publicKey
            default: throw .otherKind(FileKind.words(forLabel: block.label), wanted: wanted)
            }
            return block.decoded { d2i_AutoPrivateKey(nil, &$0, $1) }
        }
        guard let pointer else { throw .invalid }
        self.init(owning: pointer)
        guard isWanted(self) else { throw .otherKind(kind, wanted: wanted) }
        guard withoutErrorQueue({ isSoundPair }) else { throw .invalid }
    }

    private init(owning pointer: OpaquePointer) { self.pointer = pointer }

    /// Returns a new random private key on P-256.
    ///
    /// Wraps `EVP_PKEY_generate`.
    ///
    /// - Throws: ``KeyError/failed``.
    static func generatedP256() throws(KeyError) -> KeyHandle {
        try withoutErrorQueue { () throws(KeyError) in
            guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw .failed }
            defer { EVP_PKEY_CTX_free(context) }
            var pointer: OpaquePointer?
            guard EVP_PKEY_keygen_init(context) == 1,
                EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
                EVP_PKEY_generate(context, &pointer) == 1,
                let key = KeyHandle(pointer)
            else { throw .failed }
            return key
        }
    }

    deinit { EVP_PKEY_free(pointer) }

    /// Signs the SHA-256 digest of a message.
    ///
    /// Wraps `EVP_DigestSign`.
    ///
    /// - Returns: the signature as OpenSSL encodes it for this kind of key.
    /// - Throws: ``KeyError/failed``.
    func signature(of message: [UInt8]) throws(KeyError) -> [UInt8] {
        try withoutErrorQueue { () throws(KeyError) in
            guard let context = EVP_MD_CTX_new() else { throw .failed }
            defer { EVP_MD_CTX_free(context) }
            var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(pointer)))
            var count = signature.count
            guard EVP_DigestSignInit_ex(context, nil, "SHA256", nil, nil, pointer, nil) == 1,
                EVP_DigestSign(context, &signature, &count, message, message.count) == 1
            else { throw .failed }
            return Array(signature.prefix(count))
        }
    }

    /// Whether this is an EC key on P-256.
    ///
    /// This property does not say whether the point lies on the curve; ``isSoundPublicKey`` does.
    var isP256: Bool {
        EVP_PKEY_is_a(pointer, "EC") == 1 && curve == "prime256v1"
    }

    /// OpenSSL's name of the curve; nil for other keys than those on curves.
    private var curve: String? {
        var name = [CChar](repeating: 0, count: 64)
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, nil) == 1 else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The kind of key in words.
    var kind: String {
        if isP256 { return "an EC key on P-256" }
        if EVP_PKEY_is_a(pointer, "EC") == 1 { return "an EC key on \(curve ?? "another curve")" }
        if isRSA { return "an RSA key" }
        return EVP_PKEY_get0_type_name(pointer).map { "an \(String(cString: $0)) key" } ?? "another kind of key"
    }

    var isRSA: Bool { EVP_PKEY_is_a(pointer, "RSA") == 1 }

    /// The length of an RSA key's public exponent in bits; `Int.max` if there is no exponent.
    var rsaExponentBits: Int {
        var exponent: OpaquePointer?
        guard EVP_PKEY_get_bn_param(pointer, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1 else { return .max }
        defer { BN_free(exponent) }
        return Int(BN_num_bits(exponent))
    }

    /// Whether the public key passes OpenSSL's checks; wraps `EVP_PKEY_public_check`.
    var isSoundPublicKey: Bool { check(EVP_PKEY_public_check) }

    /// Whether the private and the public half belong together; wraps `EVP_PKEY_check`.
    var isSoundPair: Bool { check(EVP_PKEY_check) }

    private func check(_ function: (OpaquePointer) -> Int32) -> Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return function(context) == 1
    }
}

/// Runs a function that may leave entries in the thread's OpenSSL error queue, and removes those entries.
///
/// TLS uses the same queue on the same thread: `SSL_get_error` would take a leftover entry for a broken connection.
func withoutErrorQueue<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    ERR_set_mark()
    defer { ERR_pop_to_mark() }
    return try body()
}
