import COpenSSL

/// Keys from their numbers, without PEM.
extension PublicKey {
    /// Creates an RSA key from the parameters `n` and `e` of a JWK (RFC 7518, section 6.3.1), base64url decoded.
    ///
    /// - Throws: ``KeyError`` if the modulus is out of range, or the numbers are not a key.
    package init(rsaModulus: [UInt8], exponent: [UInt8]) throws(KeyError) {
        // A modulus that is too long is refused here, before OpenSSL spends time on it.
        let bits = rsaModulus.drop { $0 == 0 }.count * 8
        guard bits <= Self.maximumRSABits else { throw .keyLength(bits) }
        self = try withoutErrorQueue { () throws(KeyError) in
            let modulus = BN_bin2bn(rsaModulus, Int32(rsaModulus.count), nil)
            defer { BN_free(modulus) }
            let exponentNumber = BN_bin2bn(exponent, Int32(exponent.count), nil)
            defer { BN_free(exponentNumber) }
            guard modulus != nil, exponentNumber != nil else { throw .failed }
            let key = try Self.built("RSA") { builder in
                OSSL_PARAM_BLD_push_BN(builder, ringline_param_rsa_n, modulus) == 1
                    && OSSL_PARAM_BLD_push_BN(builder, ringline_param_rsa_e, exponentNumber) == 1
            }
            return try PublicKey(checking: key)
        }
    }

    /// Creates a P-256 key from the parameters `x` and `y` of a JWK (RFC 7518, section 6.2.1), base64url decoded.
    ///
    /// - Parameters:
    ///   - p256X: 32 bytes, including leading zeros.
    ///   - y: 32 bytes, including leading zeros.
    /// - Throws: ``KeyError/invalid`` if there are more or fewer bytes, or the point is not on the curve.
    package init(p256X: [UInt8], y: [UInt8]) throws(KeyError) {
        guard p256X.count == 32, y.count == 32 else { throw .invalid }
        self = try withoutErrorQueue { () throws(KeyError) in
            let point: [UInt8] = [0x04] + p256X + y
            let key = try point.withUnsafeBufferPointer { point throws(KeyError) in
                try Self.built("EC") { builder in
                    OSSL_PARAM_BLD_push_utf8_string(builder, ringline_param_group, ringline_p256, 0) == 1
                        && OSSL_PARAM_BLD_push_octet_string(
                            builder,
                            ringline_param_public,
                            point.baseAddress,
                            point.count
                        ) == 1
                }
            }
            return try PublicKey(checking: key)
        }
    }

    /// Creates a P-256 key from its point in uncompressed form (RFC 5480, section 2.2).
    ///
    /// - Parameter p256Point: 65 bytes, the first of which is 4.
    /// - Throws: ``KeyError/invalid`` if the bytes are not such a point, or the point is not on the curve.
    package init(p256Point: [UInt8]) throws(KeyError) {
        guard p256Point.count == 65, p256Point[0] == 4 else { throw .invalid }
        try self.init(p256X: Array(p256Point[1...32]), y: Array(p256Point[33...64]))
    }

    /// The point of a P-256 key in uncompressed form: 65 bytes.
    ///
    /// Wraps `EVP_PKEY_get1_encoded_public_key`.
    ///
    /// - Throws: ``KeyError/failed``, also for an RSA key.
    package func p256Point() throws(KeyError) -> [UInt8] {
        try withoutErrorQueue { () throws(KeyError) in
            guard algorithm == .es256 else { throw .failed }
            var start: UnsafeMutablePointer<UInt8>?
            let count = EVP_PKEY_get1_encoded_public_key(handle.pointer, &start)
            defer { ringline_openssl_free(start) }
            guard let start, count == 65 else { throw .failed }
            return Array(UnsafeBufferPointer(start: start, count: count))
        }
    }

    /// Builds a key from the parameters that `push` puts into the builder; wraps `EVP_PKEY_fromdata`.
    private static func built(_ kind: String, _ push: (OpaquePointer) -> Bool) throws(KeyError) -> KeyHandle {
        guard let builder = OSSL_PARAM_BLD_new() else { throw .failed }
        defer { OSSL_PARAM_BLD_free(builder) }
        // Until `OSSL_PARAM_BLD_to_param` the builder holds pointers to all that was pushed, including the names.
        guard push(builder), let parameters = OSSL_PARAM_BLD_to_param(builder) else { throw .failed }
        defer { OSSL_PARAM_free(parameters) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil) else { throw .failed }
        defer { EVP_PKEY_CTX_free(context) }
        var pointer: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
            EVP_PKEY_fromdata(context, &pointer, ringline_pkey_public_key, parameters) == 1,
            let key = KeyHandle(pointer)
        else { throw .invalid }
        return key
    }
}
