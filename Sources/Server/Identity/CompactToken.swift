import Crypto
import JSON

/// The three parts of a signed JWT in compact form (RFC 7515, section 7.1), parsed but not verified.
struct CompactToken {
    let header: TokenHeader
    let payload: [UInt8]
    let signature: [UInt8]

    private let token: [UInt8]
    private let signedByteCount: Int

    /// Returns whether the signature over header, dot and payload, exactly as they were sent, is valid under a key.
    func isSigned(with key: VerificationKey) -> Bool {
        key.isValid(signature, for: token.span.extracting(0..<signedByteCount))
    }

    init(_ token: [UInt8]) throws(TokenError) {
        let points = token.indices.filter { token[$0] == UInt8(ascii: ".") }
        // A token of five parts is a JWE: it keeps content secret, but does not authenticate its sender.
        guard points.count == 2 else { throw .malformed }
        let bytes = token.span
        guard let header = Base64URL.decode(bytes.extracting(0..<points[0])),
            let payload = Base64URL.decode(bytes.extracting(points[0] + 1..<points[1])),
            let signature = Base64URL.decode(bytes.extracting(points[1] + 1..<token.count)),
            !header.isEmpty, !payload.isEmpty, !signature.isEmpty
        else { throw .malformed }
        self.header = try TokenHeader(header)
        self.payload = payload
        self.signature = signature
        self.token = token
        self.signedByteCount = points[1]
    }
}

/// The relevant part of a token's header: the algorithm and the key with which the token asks to be verified.
///
/// With `jwk`, `jku`, `x5c` or `x5u` a token could bring its own key; these members are never read.
struct TokenHeader {
    let algorithm: [UInt8]
    let keyID: [UInt8]?

    /// The accepted values of `typ`, in lower case, with or without `application/`.
    ///
    /// The same key may have signed other kinds of token, such as a logout token. Such tokens must not be accepted as
    /// access tokens (RFC 8725, section 3.11).
    private static let types = ["jwt", "at+jwt", "jose"].map { Array($0.utf8) }
    /// Members that a verifier must understand, and that this verifier does not support; `enc` and `b64` change what is
    /// signed.
    private static let refused = ["crit", "b64", "enc"]

    init(_ json: [UInt8]) throws(TokenError) {
        let parsed: JSONValue
        do { parsed = try JSONValue(json) } catch { throw .malformed }
        guard case .object(let object) = parsed else { throw .malformed }
        guard Self.refused.allSatisfy({ object[$0] == nil }) else { throw .unsupportedHeader }
        guard let algorithm = object["alg"]?.text else { throw .malformed }
        self.algorithm = algorithm
        switch object["kid"] {
        case nil: keyID = nil
        case .string(let text)?: keyID = text
        default: throw .malformed
        }
        if let type = object["typ"] {
            guard let text = type.text else { throw .malformed }
            guard Self.types.contains(Self.shortType(text)) else { throw .unsupportedHeader }
        }
    }

    /// Returns a media type in lower case without `application/`, which is usually left out (RFC 7515, section 4.1.9).
    private static func shortType(_ text: [UInt8]) -> [UInt8] {
        let lower = text.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        let prefix = Array("application/".utf8)
        return lower.starts(with: prefix) ? Array(lower.dropFirst(prefix.count)) : lower
    }
}
