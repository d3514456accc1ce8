import CallCore
import Crypto
import Identity
import Testing

@Suite("A valid token")
struct ClaimsTests {
    private func claims(_ payload: String, _ rules: TokenRules = TokenRules()) throws -> Claims {
        let signer = try TestKeys.shared.get().hs256
        return try signer.verifier(rules).verify(signer.token(payload: payload), atSeconds: TestKeys.now)
    }

    @Test("A token of each algorithm identifies its bearer", arguments: ["HS256", "RS256", "ES256"])
    func algorithms(name: String) throws {
        let signer = try #require(try TestKeys.all.first { $0.algorithm == name })
        let token = signer.token(payload: TestKeys.payload)
        let expected = Claims(
            user: try #require(UserID("11")),
            name: "山田太郎",
            expiresAtSeconds: 1_800_003_600,
            issuedAtSeconds: TestKeys.now,
            fingerprint: TokenFingerprint(rawValue: 0xca97_8112_ca1b_bdca)
        )
        #expect(try signer.verifier().verify(token, atSeconds: TestKeys.now) == expected)
        #expect(try signer.verifier().verify(Array(token.utf8), atSeconds: TestKeys.now) == expected)
        #expect(try signer.verifier().verify(token[...], atSeconds: TestKeys.now) == expected)
        #expect(try signer.verifier().algorithms == [name])
    }

    @Test("The app's backend is told the claims that are named, as the token has them; if they are too long, none")
    func told() throws {
        var rules = TokenRules()
        rules.toldClaims = ["ward", "role", "missing", "né\"e"]
        let payload =
            #"{"sub":"11","exp":1800003600,"role":"a\u00e9\n","ward":{"b":1.50,"a":[ true,null ]},"#
            + #""né\"e":1e400}"#
        let told = try claims(payload, rules).told
        #expect(
            String(decoding: told, as: UTF8.self)
                == #""ward":{"a":[true,null],"b":1.50},"role":"aé\n","né\"e":1e400"#
        )
        #expect(try claims(payload).told.isEmpty)
        let longest = String(repeating: "x", count: Claims.toldBytes - #""role":"""#.utf8.count)
        for (more, count) in [("", Claims.toldBytes), ("x", 0)] {
            let payload = #"{"sub":"11","exp":1800003600,"role":"\#(longest + more)"}"#
            #expect(try claims(payload, rules).told.count == count)
        }
    }

    @Test("A verifier accepts tokens of several keys, each for its own algorithm")
    func severalSources() throws {
        let all = try TestKeys.all
        let verifier = try TokenVerifier(keys: all.map(\.source))
        for signer in all {
            let token = signer.token(payload: TestKeys.payload)
            #expect(try verifier.verify(token, atSeconds: TestKeys.now).user.text == "11")
        }
        #expect(verifier.algorithms == ["HS256", "RS256", "ES256"])
    }

    @Test(
        "A token may have each of these headers",
        arguments: [
            #"{"alg":"HS256"}"#, #"{"typ":"jwt","alg":"HS256"}"#, #"{"alg":"HS256","typ":"at+jwt"}"#,
            #"{"alg":"HS256","typ":"application/at+JWT"}"#, #"{"alg":"HS256","typ":"JOSE"}"#,
            " {\r\n\"alg\" :\t\"HS256\"}\n",
            #"{"alg":"\u0048S256"}"#, #"{"alg":"HS256","kid":"anything"}"#,
            #"{"alg":"HS256","x":[{},{"y":[1e5,-0,true]}]}"#,
            #"{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"},"jku":"https://evil.example","x5c":["AA"]}"#,
            #"{"alg":"HS256","\u0000":"\ud83d\ude00"}"#, #"{"alg":"HS256","K":1,"\u212a":2,"é":3,"e\u0301":4}"#,
        ]
    )
    func headers(header: String) throws {
        let signer = try TestKeys.shared.get().hs256
        let token = signer.token(header: header, payload: TestKeys.payload)
        #expect(try signer.verifier().verify(token, atSeconds: TestKeys.now).user.text == "11")
    }

    @Test("The user is named by `sub`, else by `uid`; if a claim is configured, only by that claim")
    func users() throws {
        #expect(try claims(#"{"exp":1800003600,"sub":"11","uid":12}"#).user.text == "11")
        let integer = try claims(#"{"exp":1800003600,"uid":12,"u":"taro"}"#)
        #expect(integer.user.text == "12" && integer.userIsInteger && integer.name == "taro")
        #expect(try !claims(#"{"exp":1800003600,"sub":"12"}"#).userIsInteger)
        #expect(try claims(#"{"exp":1800003600,"uid":0}"#).user.text == "0")
        // The digits are the id, however many they are.
        let most = String(repeating: "9", count: 128)
        for digits in ["9007199254740993", "9223372036854775807", "9223372036854775808", "100000000000000000000", most]
        {
            let large = try claims(#"{"exp":1800003600,"sub":\#(digits),"device":\#(digits)}"#)
            #expect(large.user.text == digits && large.userIsInteger && large.device?.text == digits)
        }
        let rules = TokenRules(userClaim: "phone")
        #expect(try claims(#"{"exp":1800003600,"sub":"11","phone":"+81-90"}"#, rules).user.text == "+81-90")
        let alphabet = "ABCXYZabcxyz0189._@:+-"
        #expect(try claims(#"{"exp":1800003600,"sub":"\#(alphabet)"}"#).user.text == alphabet)
        let long = String(repeating: "a", count: 128)
        #expect(try claims(#"{"exp":1800003600,"sub":"\#(long)"}"#).user.text == long)
    }

    @Test("A token may carry a name, a device, rooms and a scope")
    func others() throws {
        let full = try claims(
            #"{"exp":1800003600,"sub":"11","name":"A","u":"B","device":"iphone-a","rooms":["room:x","room:y"],"scope":"read server"}"#
        )
        #expect(full.name == "A" && full.device?.text == "iphone-a" && full.isService)
        #expect(full.rooms == ["room:x", "room:y"])
        #expect(try claims(#"{"exp":1800003600,"sub":"11","scope":["server"]}"#).isService)
        for scope in [#""""#, #""servers""#, #""Server""#, #""my-server""#, "[]", #"["a server"]"#] {
            #expect(try !claims(#"{"exp":1800003600,"sub":"11","scope":\#(scope)}"#).isService, "\(scope)")
        }
        let odd = try claims(#"{"exp":1800003600,"sub":"11","name":5,"u":"","device":7}"#)
        #expect(odd.name == nil && odd.device?.text == "7" && odd.rooms.isEmpty && !odd.isService)
        #expect(try claims(#"{"exp":1800003600,"sub":"11","name":"\ud83d\ude00\n\"\/"}"#).name == "😀\n\"/")
    }

    @Test("A token's fingerprint is made from its `jti`, or from the whole token if that has no usable `jti`")
    func marks() throws {
        let signer = try TestKeys.shared.get().hs256
        for jti in [#"{}"#, #""""#, "1", "null"] {
            let token = signer.token(payload: #"{"exp":1800003600,"sub":"11","jti":\#(jti)}"#)
            let digest = SHA256.hash(token)
            let fingerprint = try signer.verifier().verify(token, atSeconds: TestKeys.now).fingerprint.rawValue
            #expect(
                Hex.encode(Array(digest.prefix(8))) == String(
                    repeating: "0",
                    count: 16 - String(fingerprint, radix: 16).count
                )
                    + String(fingerprint, radix: 16)
            )
        }
        let one = try claims(#"{"exp":1800003600,"sub":"11","jti":"x"}"#)
        let two = try claims(#"{"exp":1800003601,"sub":"11","jti":"x"}"#)
        #expect(one.fingerprint == two.fingerprint)
    }

    @Test("A token is valid from nbf - leeway until just before exp + leeway", arguments: [0, 1, 60, 3600] as [Int64])
    func leeway(leeway: Int64) throws {
        let signer = try TestKeys.shared.get().hs256
        let verifier = try signer.verifier(TokenRules(leewaySeconds: leeway))
        let token = signer.token(payload: #"{"sub":"11","nbf":1000000,"exp":2000000}"#)
        #expect(throws: TokenError.notYetValid) { try verifier.verify(token, atSeconds: 1_000_000 - leeway - 1) }
        #expect(try verifier.verify(token, atSeconds: 1_000_000 - leeway).user.text == "11")
        #expect(try verifier.verify(token, atSeconds: 2_000_000 + leeway - 1).user.text == "11")
        #expect(throws: TokenError.expired) { try verifier.verify(token, atSeconds: 2_000_000 + leeway) }
        #expect(throws: TokenError.expired) { try verifier.verify(token, atSeconds: .max) }
        #expect(throws: TokenError.notYetValid) { try verifier.verify(token, atSeconds: .min) }
    }

    @Test("Times may be decimals or far in the future, and adding a leeway never overflows")
    func decimals() throws {
        let signer = try TestKeys.shared.get().hs256
        let verifier = try signer.verifier(TokenRules(leewaySeconds: 0))
        let token = signer.token(payload: #"{"sub":"11","nbf":1000.5,"exp":2.0005e3}"#)
        #expect(throws: TokenError.notYetValid) { try verifier.verify(token, atSeconds: 1000) }
        #expect(try verifier.verify(token, atSeconds: 1001).expiresAtSeconds == 2001)
        #expect(try verifier.verify(token, atSeconds: 2000).user.text == "11")
        #expect(throws: TokenError.expired) { try verifier.verify(token, atSeconds: 2001) }
        let digits = "1\(String(repeating: "0", count: 400))"
        for exp in [
            "1e300", "1e400", "1e99999999999999999999", "9007199254740993", "9223372036854775808",
            "18446744073709551616",
            "99999999999999999999999", digits,
        ] {
            let never = try claims(#"{"sub":"11","exp":\#(exp)}"#)
            #expect(never.expiresAtSeconds == 1 << 53)
            #expect(try claims(#"{"sub":"11","exp":\#(exp),"iat":\#(exp)}"#).expiresAtSeconds == 1 << 53)
        }
        for nbf in ["-1", "-0.0", "-9223372036854775809", "-1e300", "-1e400"] {
            #expect(try claims(#"{"sub":"11","exp":1e300,"nbf":\#(nbf)}"#).user.text == "11")
        }
        #expect(try claims(#"{"sub":"11"}"#, TokenRules(requireExpiry: false)).expiresAtSeconds == nil)
        let widest = TokenRules(leewaySeconds: .max)
        #expect(try claims(#"{"sub":"11","exp":1e300,"nbf":1e300}"#, widest).user.text == "11")
    }

    @Test("A token is reported as expired only if it is valid in every other respect")
    func expiredLast() throws {
        let rules = TokenRules(issuer: "i")
        #expect(throws: TokenError.issuer) { try claims(#"{"sub":"11","exp":1,"iss":"j"}"#, rules) }
        #expect(throws: TokenError.noUser) { try claims(#"{"exp":1,"iss":"i"}"#, rules) }
        #expect(throws: TokenError.expired) { try claims(#"{"sub":"11","exp":1,"iss":"i"}"#, rules) }
    }

    @Test("The configured issuer and audience are accepted; if none is configured, any issuer and audience is accepted")
    func whom() throws {
        let rules = TokenRules(issuer: "https://K.example", audience: "K")
        for audience in [#""K""#, #"["K"]"#, #"["a","K","b"]"#] {
            let payload = #"{"sub":"11","exp":1800003600,"iss":"https://K.example","aud":\#(audience)}"#
            #expect(try claims(payload, rules).user.text == "11")
        }
        #expect(try claims(#"{"sub":"11","exp":1800003600,"iss":5,"aud":6}"#).user.text == "11")
    }

    @Test(
        "The time of issue is rounded down; a missing or malformed time of issue is ignored",
        arguments: [
            ("1800000000", 1_800_000_000), ("1800000000.9", 1_800_000_000), ("0", 0), ("1e300", 1 << 53), ("-1", nil),
            (#""1800000000""#, nil), ("null", nil), ("[]", nil),
        ] as [(String, Int64?)]
    )
    func issue(value: String, expected: Int64?) throws {
        let signer = try #require(try TestKeys.all.first)
        let token = signer.token(payload: #"{"sub":"11","exp":1800003600,"iat":\#(value)}"#)
        #expect(try signer.verifier().verify(token, atSeconds: TestKeys.now).issuedAtSeconds == expected)
        let without = signer.token(payload: #"{"sub":"11","exp":1800003600}"#)
        #expect(try signer.verifier().verify(without, atSeconds: TestKeys.now).issuedAtSeconds == nil)
    }
}
