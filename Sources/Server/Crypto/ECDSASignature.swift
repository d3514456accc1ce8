import COpenSSL

/// The two encodings of an ECDSA signature on P-256: JOSE's 64 bytes r‖s (RFC 7518, section 3.4) and ASN.1's DER.
enum ECDSASignature {
    static let byteCount = 64

    /// Returns the DER encoding of r‖s; nil if the input is not 64 bytes long.
    ///
    /// This function does not check whether the numbers are in range; the verification of the signature does.
    static func der(_ raw: [UInt8]) -> [UInt8]? {
        guard raw.count == byteCount else { return nil }
        let body = integer(raw[..<32]) + integer(raw[32...])
        // The body is two integers of at most 35 bytes, so its length always fits the short form.
        return [0x30, UInt8(body.count)] + body
    }

    /// Returns the 64 bytes r‖s of a DER signature; nil if the input is not a DER signature.
    ///
    /// Wraps `d2i_ECDSA_SIG`, `BN_bn2binpad`.
    static func raw(_ der: [UInt8]) -> [UInt8]? {
        let signature = der.withUnsafeBufferPointer { buffer in
            var place = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &place, buffer.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        var raw = [UInt8](repeating: 0, count: byteCount)
        let written = raw.withUnsafeMutableBufferPointer { raw in
            guard let base = raw.baseAddress else { return false }
            return BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + 32, 32) == 32
        }
        return written ? raw : nil
    }

    /// Returns a non-negative DER integer.
    ///
    /// Leading zeros are left out, except for one where the first bit would otherwise be read as a sign.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }
}
