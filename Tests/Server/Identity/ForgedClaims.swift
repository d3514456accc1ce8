import Crypto
import Identity

extension Forgery {
    /// Returns tokens with a correct signature whose payload must be refused.
    static func payloads(_ signer: Signer) throws -> [Forgery] {
        let plain = try signer.verifier()
        let far = #""exp":1800003600"#
        let user = String(repeating: "a", count: 129)
        let deep = String(repeating: #"{"a":"#, count: 900) + "1" + String(repeating: "}", count: 900)
        let rows: [(String, String, TokenError)] = [
            ("empty", "", .malformed), ("text", "hello", .malformed), ("a list", "[]", .malformed),
            ("null", "null", .malformed),
            ("a number", "1", .malformed), ("two objects", #"{"sub":"11",\#(far)}{}"#, .malformed),
            ("cut short", #"{"sub":"11",\#(far)"#, .malformed),
            ("sub twice", #"{"sub":"11","sub":"12",\#(far)}"#, .malformed),
            ("sub twice, once by escapes", #"{"sub":"11","su\u0062":"12",\#(far)}"#, .malformed),
            ("exp twice", #"{"sub":"11",\#(far),\#(far)}"#, .malformed),
            ("depth 900", #"{"sub":"11",\#(far),"x":\#(deep)}"#, .malformed),
            ("depth of lists without end", String(repeating: "[", count: 5000), .malformed),
            ("NaN", #"{"sub":"11",\#(far),"x":NaN}"#, .malformed),
            ("Infinity", #"{"sub":"11","exp":Infinity}"#, .malformed),
            ("a leading zero", #"{"sub":"11","exp":01800003600}"#, .malformed),
            ("a plus", #"{"sub":"11","exp":+1800003600}"#, .malformed),
            ("a point at the end", #"{"sub":"11","exp":1800003600.}"#, .malformed),
            ("a point before", #"{"sub":"11","exp":.5}"#, .malformed),
            ("an exponent without digits", #"{"sub":"11","exp":1e}"#, .malformed),
            ("hexadecimal", #"{"sub":"11","exp":0x7fffffff}"#, .malformed),
            ("half a pair", #"{"sub":"11",\#(far),"name":"\uDC00"}"#, .malformed),
            ("a pair the wrong way round", #"{"sub":"11",\#(far),"name":"\uDE00\uD83D"}"#, .malformed),
            ("half a pair and a letter", #"{"sub":"11",\#(far),"name":"\uD83Da"}"#, .malformed),
            ("a control character", "{\"sub\":\"11\",\(far),\"name\":\"\u{1}\"}", .malformed),
            ("a newline in a string", "{\"sub\":\"11\",\(far),\"name\":\"a\nb\"}", .malformed),
            ("an unknown escape", #"{"sub":"11",\#(far),"name":"\x41"}"#, .malformed),
            ("a word too long", #"{"sub":"11",\#(far),"x":truee}"#, .malformed),
            ("a word too short", #"{"sub":"11",\#(far),"x":tru}"#, .malformed),
            ("no user", "{\(far)}", .noUser), ("an empty user", #"{"sub":"",\#(far)}"#, .claim("sub")),
            ("an empty sub, though uid", #"{"sub":"","uid":11,\#(far)}"#, .claim("sub")),
            ("sub null, though uid", #"{"sub":null,"uid":11,\#(far)}"#, .claim("sub")),
            ("129 characters", #"{"sub":"\#(user)",\#(far)}"#, .claim("sub")),
            ("a user with a space", #"{"sub":"1 1",\#(far)}"#, .claim("sub")),
            ("a user with a slash", #"{"sub":"1/1",\#(far)}"#, .claim("sub")),
            ("a user with NUL", #"{"sub":"11\u0000",\#(far)}"#, .claim("sub")),
            ("a user with an umlaut", #"{"sub":"ü",\#(far)}"#, .claim("sub")),
            ("the Kelvin sign", #"{"sub":"\u212A",\#(far)}"#, .claim("sub")),
            ("full-width digits", #"{"sub":"１１",\#(far)}"#, .claim("sub")),
            ("a user below zero", #"{"sub":-11,\#(far)}"#, .claim("sub")),
            ("a user of minus zero", #"{"sub":-0,\#(far)}"#, .claim("sub")),
            ("a user with a fraction", #"{"sub":11.0,\#(far)}"#, .claim("sub")),
            ("a user with an exponent", #"{"sub":1e1,\#(far)}"#, .claim("sub")),
            ("a user of 1e30", #"{"sub":1e30,\#(far)}"#, .claim("sub")),
            ("a user far below zero", #"{"sub":-9223372036854775809,\#(far)}"#, .claim("sub")),
            ("a device of 1e30", #"{"sub":"11","device":1e30,\#(far)}"#, .claim("device")),
            ("a user of 400 digits", #"{"sub":1\#(String(repeating: "0", count: 400)),\#(far)}"#, .claim("sub")),
            ("a user list", #"{"sub":["11"],\#(far)}"#, .claim("sub")),
            ("a user object", #"{"sub":{"id":11},\#(far)}"#, .claim("sub")),
            ("a user true", #"{"sub":true,\#(far)}"#, .claim("sub")),
            ("a broken uid", #"{"uid":"a b",\#(far)}"#, .claim("uid")),
            ("a broken device", #"{"sub":"11","device":"a b",\#(far)}"#, .claim("device")),
            ("an empty device", #"{"sub":"11","device":"",\#(far)}"#, .claim("device")),
            ("a device list", #"{"sub":"11","device":[],\#(far)}"#, .claim("device")),
            ("rooms a string", #"{"sub":"11","rooms":"room:x",\#(far)}"#, .claim("rooms")),
            ("rooms of numbers", #"{"sub":"11","rooms":[1],\#(far)}"#, .claim("rooms")),
            ("rooms of both", #"{"sub":"11","rooms":["room:x",null],\#(far)}"#, .claim("rooms")),
            ("scope a number", #"{"sub":"11","scope":1,\#(far)}"#, .claim("scope")),
            ("scope true", #"{"sub":"11","scope":true,\#(far)}"#, .claim("scope")),
        ]
        let bytes: [(String, [UInt8])] = [
            ("broken UTF-8", [0xFF]), ("an overlong slash", [0xC0, 0xAF]),
            ("a surrogate in UTF-8", [0xED, 0xA0, 0x80]),
            ("beyond Unicode", [0xF4, 0x90, 0x80, 0x80]), ("half a character", [0xE5, 0xB1]),
        ]
        let header = Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8))
        return rows.map { Forgery("payload \($0.0)", signer.token(payload: $0.1), plain, $0.2) }
            + bytes.map { name, bytes in
                let payload = Array(#"{"sub":"11",\#(far),"name":""#.utf8) + bytes + Array(#""}"#.utf8)
                let token = signer.token(headerPart: header, payloadPart: Base64URL.encode(payload))
                return Forgery("payload \(name)", token, plain, .malformed)
            }
            + nonCanonical(signer, plain) + (try whom(signer))
    }

    /// Returns tokens whose parts a lenient decoder would decode to the same bytes; each is signed as it is written.
    private static func nonCanonical(_ signer: Signer, _ verifier: TokenVerifier) -> [Forgery] {
        // The header has 16 bytes. Its last byte is encoded in two characters, the second of which has four unused
        // bits.
        let header = Base64URL.encode(Array(#"{"alg":"HS256" }"#.utf8))
        let payload = Base64URL.encode(Array(TestKeys.payload.utf8))
        let last = Array("BCDEFGHIJKLMNOP".utf8).map { String(decoding: [$0], as: UTF8.self) }
        return last.map { character in
            Forgery(
                "unused bits \(character)",
                signer.token(headerPart: header.dropLast() + character, payloadPart: payload),
                verifier,
                .malformed
            )
        } + [
            Forgery(
                "padding signed",
                signer.token(headerPart: header + "==", payloadPart: payload),
                verifier,
                .malformed
            ),
            Forgery(
                "a newline signed",
                signer.token(headerPart: header + "\n", payloadPart: payload),
                verifier,
                .malformed
            ),
        ]
    }

    /// Returns tokens of another issuer, for another audience, or without the configured user claim.
    private static func whom(_ signer: Signer) throws -> [Forgery] {
        let far = #""exp":1800003600"#
        let issuer = try signer.verifier(TokenRules(issuer: "https://K.example"))
        let audience = try signer.verifier(TokenRules(audience: "K"))
        let claim = try signer.verifier(TokenRules(userClaim: "phone"))
        let rows: [(String, TokenVerifier, String, TokenError)] = [
            ("no iss", issuer, "", .issuer), ("another iss", issuer, #","iss":"https://k.example""#, .issuer),
            ("iss and a slash", issuer, #","iss":"https://K.example/""#, .issuer),
            ("iss a list", issuer, #","iss":["https://K.example"]"#, .issuer),
            ("iss with the Kelvin sign", issuer, #","iss":"https://\u212A.example""#, .issuer),
            ("iss null", issuer, #","iss":null"#, .issuer),
            ("no aud", audience, "", .audience), ("another aud", audience, #","aud":"k""#, .audience),
            ("aud with the Kelvin sign", audience, #","aud":"\u212A""#, .audience),
            ("aud in words", audience, #","aud":"K L""#, .audience),
            ("an empty aud list", audience, #","aud":[]"#, .audience),
            ("aud in a list within", audience, #","aud":[["K"]]"#, .audience),
            ("aud among numbers", audience, #","aud":["K",1]"#, .audience),
            ("aud an object", audience, #","aud":{"K":1}"#, .audience),
            ("aud null", audience, #","aud":null"#, .audience),
            ("no user claim, though sub", claim, #","uid":1"#, .noUser),
        ]
        return rows.map { name, verifier, member, error in
            Forgery("payload \(name)", signer.token(payload: #"{"sub":"11",\#(far)\#(member)}"#), verifier, error)
        }
    }

    /// Returns tokens that are expired or not valid yet, or whose times are malformed.
    static func times(_ signer: Signer) throws -> [Forgery] {
        let strict = try signer.verifier()
        let lax = try signer.verifier(TokenRules(requireExpiry: false))
        let now = TestKeys.now
        let rows: [(String, String, TokenError)] = [
            ("exp 60 s ago", "\"exp\":\(now - 60)", .expired), ("exp 60.0 s ago", "\"exp\":\(now - 60).0", .expired),
            ("exp 60.5 s ago", "\"exp\":\(now - 61).5", .expired), ("exp 0", #""exp":0"#, .expired),
            ("exp 1e0", #""exp":1e0"#, .expired),
            ("exp too small to tell", #""exp":1e-4000"#, .expired),
            ("exp a string", "\"exp\":\"\(now + 60)\"", .claim("exp")),
            ("exp null", #""exp":null"#, .claim("exp")), ("exp true", #""exp":true"#, .claim("exp")),
            ("exp a list", "\"exp\":[\(now + 60)]", .claim("exp")),
            ("exp an object", #""exp":{}"#, .claim("exp")), ("exp below zero", #""exp":-1"#, .expired),
            ("exp minus zero", #""exp":-0.0"#, .expired),
            ("exp below 64 bits", #""exp":-9223372036854775809"#, .expired),
            ("exp far below zero", #""exp":-1e300"#, .expired), ("exp minus infinite", #""exp":-1e400"#, .expired),
            ("nbf in 61 s", "\"exp\":\(now + 99),\"nbf\":\(now + 61)", .notYetValid),
            ("nbf in 60.5 s", "\"exp\":\(now + 99),\"nbf\":\(now + 60).5", .notYetValid),
            ("nbf in the far future", "\"exp\":\(now + 99),\"nbf\":1e300", .notYetValid),
            ("nbf a string", "\"exp\":\(now + 99),\"nbf\":\"0\"", .claim("nbf")),
            ("nbf null", "\"exp\":\(now + 99),\"nbf\":null", .claim("nbf")),
            ("nbf beyond 64 bits", "\"exp\":\(now + 99),\"nbf\":18446744073709551616", .notYetValid),
            ("nbf infinite", "\"exp\":\(now + 99),\"nbf\":1e999", .notYetValid),
        ]
        return [Forgery("no exp", signer.token(payload: #"{"sub":"11"}"#), strict, .noExpiry)]
            + rows.flatMap { name, members, error in
                [("", strict), (", not required", lax)].map { suffix, verifier in
                    Forgery(name + suffix, signer.token(payload: #"{"sub":"11",\#(members)}"#), verifier, error)
                }
            }
    }
}
