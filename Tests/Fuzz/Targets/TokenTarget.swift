import Identity

/// Tokens and key sets (JWS, JWK).
///
/// The first byte says which: `{` begins a key set, all else is a token.
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
        // No input is signed with the secret, which no corpus holds.
        if let claims = try? verifier.verify(bytes, atSeconds: 1_700_000_000) {
            fatalError("a token that nobody signed is taken: \(claims)")
        }
    }
}
