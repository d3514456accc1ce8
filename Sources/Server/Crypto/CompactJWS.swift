/// A signed token in its compact form: header, payload and signature in base64url, with dots between them.
///
/// Source: RFC 7515, section 7.1.
package enum CompactJWS {
    /// Returns the token of a header and a payload, which are JSON texts.
    ///
    /// `sign`: Returns the signature of the bytes that it is given.
    package static func text<Failure: Error>(
        header: [UInt8],
        payload: [UInt8],
        sign: ([UInt8]) throws(Failure) -> [UInt8]
    ) throws(Failure) -> String {
        let signed = Base64URL.encode(header) + "." + Base64URL.encode(payload)
        return signed + "." + Base64URL.encode(try sign(Array(signed.utf8)))
    }
}
