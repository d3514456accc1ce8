import Crypto
import Identity
import Testing

@Suite("The reason for which a token was refused")
struct TokenRefusalTests {
    private let now = TestKeys.now

    private func refusal(_ payload: String, _ rules: TokenRules = TokenRules()) throws -> TokenRefusal {
        let signer = try TestKeys.shared.get().hs256
        let token = signer.token(payload: payload)
        let verifier = try signer.verifier(rules)
        do throws(TokenError) {
            _ = try verifier.verify(token, atSeconds: now)
            Issue.record("accepted: \(payload)")
            return TokenRefusal(.malformed, of: token, atSeconds: now)
        } catch { return TokenRefusal(error, of: token, atSeconds: now) }
    }

    @Test("The refusal of an expired or early token shows by how many seconds, and nothing else")
    func times() throws {
        let expired = try refusal(#"{"sub":"11","exp":\#(now - 100)}"#)
        #expect(expired.expiredSeconds == 100 && expired.earlySeconds == nil && expired.issuer == nil)
        let early = try refusal(#"{"sub":"11","exp":\#(now + 900),"nbf":\#(now + 300)}"#)
        #expect(early.earlySeconds == 300 && early.expiredSeconds == nil)
        #expect(try refusal(#"{"sub":"11"}"#) == TokenRefusal(.noExpiry, of: "", atSeconds: now))
    }

    @Test("Issuer or audience is shown if it is the reason, even if it is missing or too long")
    func parties() throws {
        let rules = TokenRules(issuer: "i", audience: "a")
        #expect(try refusal(#"{"sub":"11","iss":"j"}"#, rules).issuer == "j")
        #expect(try refusal(#"{"sub":"11"}"#, rules).issuer == "")
        #expect(try refusal(#"{"sub":"11","iss":"i","aud":["b","c"]}"#, rules).audience == "b c")
        let long = String(repeating: "x", count: 1_000)
        let refused = try refusal(#"{"sub":"11","iss":"\#(long)"}"#, rules)
        #expect(refused.issuer?.utf8.count == 64 && refused.audience == nil && refused.claim == nil)
    }

    @Test("Key id and algorithm are shown if they are the reason; of a refused claim only the name is shown")
    func headersAndClaims() throws {
        let token = try TestKeys.shared.get().hs256.token(header: #"{"alg":"HS256","kid":"k"}"#, payload: "{}")
        #expect(TokenRefusal(.unknownKey, of: token, atSeconds: now).keyID == "k")
        #expect(TokenRefusal(.algorithm, of: token, atSeconds: now).algorithm == "HS256")
        #expect(TokenRefusal(.algorithm, of: token, atSeconds: now).keyID == nil)
        let signature = TokenRefusal(.signature, of: token, atSeconds: now)
        #expect(signature.keyID == "k" && signature.algorithm == "HS256")
        #expect(TokenRefusal(.claim("exp"), of: token, atSeconds: now).claim == "exp")
    }

    @Test("The refusal of every forged token shows no part of the token")
    func forgeries() throws {
        for forgery in try Forgery.all() {
            guard let token = String(validating: forgery.token, as: UTF8.self) else { continue }
            let refusal = TokenRefusal(forgery.error, of: token, atSeconds: TestKeys.now)
            for text in [refusal.issuer, refusal.audience, refusal.keyID, refusal.algorithm, refusal.claim] {
                guard let text else { continue }
                #expect(text.utf8.count <= 200, "\(forgery)")
                for part in token.split(separator: ".") where part.utf8.count > 8 {
                    #expect(!text.contains(part), "\(forgery)")
                }
            }
        }
    }
}
