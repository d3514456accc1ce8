import Identity

/// Tokens (JWS) and key sets (JWK).
///
/// An input that begins with `{` is a key set; every other input is a token.
struct TokenTarget: FuzzTarget {
    private let verifier: TokenVerifier

    init() throws {
        verifier = try TokenVerifier(keys: [.secret(Array("a secret that is long enough for HS256, at last".utf8))])
    }

    func take(_ bytes: [UInt8]) {
        if bytes.first == UInt8(ascii: "{") {
            _ = try? TokenVerifier(keys: [.keySet(json: bytes)])
            return
        }
        // No input is signed with the secret, because no corpus contains it.
        if let claims = try? verifier.verify(bytes, atSeconds: 1_700_000_000) {
            fatalError("a token that nobody signed is taken: \(claims)")
        }
    }
}
