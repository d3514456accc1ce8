import COpenSSL

/// The owner of one `EVP_PKEY`.
///
/// Sendable because OpenSSL lets any number of threads use one key at once, as long as none changes it; nothing here does
/// (`man 7 openssl-threads`).
final class KeyHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership of the key; nil if there is none.
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }

    deinit { EVP_PKEY_free(pointer) }

    /// Says whether it is an EC key on P-256 whose point lies on the curve.
    var isP256: Bool {
        guard EVP_PKEY_is_a(pointer, "EC") == 1 else { return false }
        var name = [CChar](repeating: 0, count: 64)
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, nil) == 1 else { return false }
        return name.prefix { $0 != 0 }.elementsEqual("prime256v1".utf8.map { CChar($0) })
    }

    var isRSA: Bool { EVP_PKEY_is_a(pointer, "RSA") == 1 }

    /// How long an RSA key's public exponent is; `Int.max` if it has none.
    var rsaExponentBits: Int {
        var exponent: OpaquePointer?
        guard EVP_PKEY_get_bn_param(pointer, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1 else { return .max }
        defer { BN_free(exponent) }
        return Int(BN_num_bits(exponent))
    }

    /// Checks what OpenSSL can check of a public key; wraps `EVP_PKEY_public_check`.
    var isSoundPublicKey: Bool { check(EVP_PKEY_public_check) }

    /// Checks that the private and the public half belong together; wraps `EVP_PKEY_check`.
    var isSoundPair: Bool { check(EVP_PKEY_check) }

    private func check(_ function: (OpaquePointer) -> Int32) -> Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return function(context) == 1
    }
}

/// Runs something that may leave entries in the thread's OpenSSL error queue, and takes them out again.
///
/// The queue is shared with TLS on the same thread: `SSL_get_error` reads an entry that we left as a broken connection.
func withoutErrorQueue<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    ERR_set_mark()
    defer { ERR_pop_to_mark() }
    return try body()
}
