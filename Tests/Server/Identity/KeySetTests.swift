import CallCore
import Crypto
import Identity
import Testing

/// The key sets of RFC 7517, appendix A, and the HS256 key and signature of RFC 7520, section 4.
private enum Vectors {
    static let rsaModulus =
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknj"
        + "hMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQ"
        + "vRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzK"
        + "nqDKgw"
    static let rfc7517Public =
        #"{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","#
        + #""y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"enc","kid":"1"},"#
        + #"{"kty":"RSA","n":"\#(rsaModulus)","e":"AQAB","alg":"RS256","kid":"2011-04-29"}]}"#
    static let rfc7517Symmetric =
        #"{"keys":[{"kty":"oct","alg":"A128KW","k":"GawgguFyGrWKav7AX4VKUg"},{"kty":"oct","#
        + #""k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow","#
        + #""kid":"HMAC key used in JWS spec Appendix A.1 example"}]}"#

    static let rfc7520Payload =
        "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9hZCwgYW5k"
        + "IGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4"
    static let rfc7520HS256 =
        "eyJhbGciOiJIUzI1NiIsImtpZCI6IjAxOGMwYWU1LTRkOWItNDcxYi1iZmQ2LWVlZjMxNGJjNzAzNyJ9.\(rfc7520Payload)"
        + ".s0h6KThzkfBBBkLspW1h84VsJZFTsPPqMDA7g1Md7p0"
    static let rfc7520Key =
        #"{"keys":[{"kty":"oct","kid":"018c0ae5-4d9b-471b-bfd6-eef314bc7037","use":"sig","alg":"HS256","#
        + #""k":"hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg"}]}"#
}

@Suite("A key set (JWKS)")
struct KeySetTests {
    private func verifier(_ json: String, _ rules: TokenRules = TokenRules()) throws -> TokenVerifier {
        try TokenVerifier(keys: [.keySet(json: Array(json.utf8))], rules: rules)
    }

    @Test("Each key set of RFC 7517 gives its one key for signatures, and a warning about the other key")
    func rfc7517() throws {
        let published = try verifier(Vectors.rfc7517Public)
        #expect(published.algorithms == ["RS256"])
        #expect(published.warnings == ["key 1 of the JWKS is not used: its use is not sig"])
        let symmetric = try verifier(Vectors.rfc7517Symmetric, TokenRules(userClaim: "iss"))
        #expect(symmetric.algorithms == ["HS256"])
        #expect(symmetric.warnings == ["key 1 of the JWKS is not used: its alg is not HS256"])
        #expect(try symmetric.verify(RFC7515.hs256, atSeconds: 1_300_819_380).user.text == "joe")
    }

    @Test("The key of RFC 7520 verifies the RFC's signature, although the signed text is not JSON")
    func rfc7520() throws {
        let verifier = try verifier(Vectors.rfc7520Key)
        #expect(throws: TokenError.malformed) { try verifier.verify(Vectors.rfc7520HS256, atSeconds: 0) }
        let altered = Vectors.rfc7520HS256.replacing(".s0h6", with: ".t0h6")
        #expect(throws: TokenError.signature) { try verifier.verify(altered, atSeconds: 0) }
    }

    @Test("A token's `kid` chooses the key; without `kid` any key of the algorithm may fit")
    func chosen() throws {
        let signer = try TestKeys.shared.get().hs256
        let other = Base64URL.encode(Array("another secret of thirty-two bytes".utf8))
        let mine = Base64URL.encode(TestKeys.secret)
        let set = #"{"keys":[{"kty":"oct","kid":"a","k":"\#(other)"},{"kty":"oct","kid":"b","k":"\#(mine)"}]}"#
        let verifier = try verifier(set)
        for header in [#"{"alg":"HS256","kid":"b"}"#, #"{"alg":"HS256"}"#] {
            let token = signer.token(header: header, payload: TestKeys.payload)
            #expect(try verifier.verify(token, atSeconds: TestKeys.now).user.text == "11")
        }
        let wrong = signer.token(header: #"{"alg":"HS256","kid":"a"}"#, payload: TestKeys.payload)
        #expect(throws: TokenError.signature) { try verifier.verify(wrong, atSeconds: TestKeys.now) }
    }

    @Test("Each key that cannot be used is skipped with a warning that gives the reason")
    func skipped() throws {
        let n = Base64URL.encode(try TestKeys.shared.get().rsaKey.number("n"))
        let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
        let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
        let rows = [
            ("5", "it is not an object"), ("{}", "its kty must be EC, RSA or oct"),
            (#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#, "its kty must be EC, RSA or oct"),
            (#"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#, "its crv is not P-256"),
            (#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#, "the key is malformed"),
            (#"{"kty":"EC","crv":"P-256","x":"\#(y)","y":"\#(x)"}"#, "the key is malformed"),
            (#"{"kty":"EC","crv":"P-256","x":"\#(x)="}"#, "its x is not base64url"),
            (#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","alg":"ES384"}"#, "its alg is not ES256"),
            (#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","alg":"none"}"#, "its alg is not ES256"),
            (
                #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","key_ops":["sign"]}"#,
                "its key_ops do not hold verify"
            ),
            (#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","kid":1}"#, "its kid is not a string"),
            (#"{"kty":"RSA","n":"\#(n)","e":"AQAB","alg":"HS256"}"#, "its alg is not RS256"),
            (#"{"kty":"RSA","n":"\#(n)","e":"AQAB","alg":"PS256"}"#, "its alg is not RS256"),
            (#"{"kty":"RSA","n":"\#(n)","e":"AQ"}"#, "the key is malformed"),
            (#"{"kty":"RSA","n":"\#(n)"}"#, "its e is not base64url"),
            (#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, "the RSA key has 17 bits; it must have 2048 to 8192"),
            (#"{"kty":"oct","k":""}"#, "its k is empty"), (#"{"kty":"oct"}"#, "its k is not base64url"),
        ]
        let good = #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","alg":"ES256","use":"sig","key_ops":["verify"]}"#
        for (key, reason) in rows {
            let verifier = try verifier(#"{"keys":[\#(key),\#(good)]}"#)
            #expect(verifier.warnings == ["key 1 of the JWKS is not used: \(reason)"], "\(key)")
            #expect(verifier.algorithms == ["ES256"], "\(key)")
            #expect(throws: TokenKeyError.self, "\(key)") { try self.verifier(#"{"keys":[\#(key)]}"#) }
        }
        let told = try verifier(#"{"keys":[\#(good.dropLast()),"d":"AA"}]}"#).warnings
        #expect(told == ["key 1 of the JWKS holds a private key, which must not be published"])
    }

    @Test("A malformed, empty or too large key set is refused")
    func refused() throws {
        for json in [
            "", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[],"keys":[]}"#, "{\"keys\":[", "\u{FEFF}{\"keys\":[]}",
        ] {
            #expect(throws: TokenKeyError.keySetSyntax, "\(json)") { try verifier(json) }
        }
        #expect(throws: TokenKeyError.keySetUseless([])) { try verifier(#"{"keys":[]}"#) }
        let many = Array(repeating: #"{"kty":"oct","k":"AAAA"}"#, count: 65).joined(separator: ",")
        #expect(throws: TokenKeyError.tooManyKeys) { try verifier(#"{"keys":[\#(many)]}"#) }
    }
}

@Suite("The configuration of a verifier")
struct VerifierConfigurationTests {
    @Test("A verifier needs at least one usable key")
    func keys() throws {
        let keys = try TestKeys.shared.get()
        #expect(throws: TokenKeyError.noKeys) { try TokenVerifier(keys: []) }
        #expect(throws: TokenKeyError.emptySecret) { try TokenVerifier(keys: [.secret([])]) }
        #expect(throws: TokenKeyError.publicKey(.notPEM)) { try TokenVerifier(keys: [.publicKey(pem: "x")]) }
        #expect(throws: TokenKeyError.publicKey(.privateKey)) {
            try TokenVerifier(keys: [.publicKey(pem: try keys.ecKey.pem())])
        }
    }

    @Test("A public key or key set is not accepted as a secret")
    func publicSecret() throws {
        let keys = try TestKeys.shared.get()
        for text in [keys.rsaPEM, "\n \(keys.ecPEM)", RFC7515.rsaKey, #"{"keys":[\#(RFC7515.ecKey)]}"#] {
            #expect(throws: TokenKeyError.secretIsKeyFile) { try TokenVerifier(keys: [.secret(Array(text.utf8))]) }
        }
    }

    @Test("A secret under 32 bytes causes a warning, and a secret of 32 bytes does not")
    func shortSecret() throws {
        let short = try TokenVerifier(keys: [.secret([UInt8](repeating: 65, count: 31))])
        #expect(short.warnings == ["the HS256 secret has 31 bytes; under 32 it can be guessed (RFC 7518)"])
        #expect(try TokenVerifier(keys: [.secret([UInt8](repeating: 65, count: 32))]).warnings.isEmpty)
    }
}
