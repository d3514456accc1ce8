import COpenSSL
import Crypto
import Identity

/// A token that must be refused, with the verifier that must refuse it and the expected error.
struct Forgery: Sendable, CustomStringConvertible {
    let name: String
    let token: [UInt8]
    let verifier: TokenVerifier
    let error: TokenError

    var description: String { name }

    init(_ name: String, _ token: String, _ verifier: TokenVerifier, _ error: TokenError) {
        self.init(name, Array(token.utf8), verifier, error)
    }

    init(_ name: String, _ token: [UInt8], _ verifier: TokenVerifier, _ error: TokenError) {
        self.name = name
        self.token = token
        self.verifier = verifier
        self.error = error
    }

    static func all() throws -> [Forgery] {
        let keys = try TestKeys.shared.get()
        var all: [Forgery] = []
        for signer in try TestKeys.all {
            all += try shapes(signer) + headers(signer) + signatures(signer)
        }
        return try all + algorithms(keys) + ecSignatures(keys) + rsaSignatures(keys) + keyIDs(keys)
            + payloads(keys.hs256) + times(keys.hs256)
    }

    private static func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

    /// Returns texts that are not a header, a payload and a signature in base64url, or are too long.
    private static func shapes(_ signer: Signer) throws -> [Forgery] {
        let verifier = try signer.verifier()
        let good = signer.token(payload: TestKeys.payload)
        let parts = good.split(separator: ".").map(String.init)
        let (header, payload, signature) = (parts[0], parts[1], parts[2])
        let long = signer.token(
            payload: #"{"sub":"11","exp":1800003600,"x":"\#(String(repeating: "a", count: 10_000))"}"#
        )
        // Each part is padded to a multiple of four characters. The row that uses these parts adds one more `=`, so
        // that its token is invalid even if no part needs padding.
        let padded = [header, payload, signature].map { $0 + String(repeating: "=", count: (4 - $0.count % 4) % 4) }
        let rows: [(String, String, TokenError)] = [
            ("empty", "", .malformed), ("a point", ".", .malformed), ("two points", "..", .malformed),
            ("a thousand points", String(repeating: ".", count: 1000), .malformed),
            ("one part", header, .malformed), ("two parts", "\(header).\(payload)", .malformed),
            ("no signature", "\(header).\(payload).", .malformed),
            ("no payload", "\(header)..\(signature)", .malformed),
            ("no header", ".\(payload).\(signature)", .malformed), ("four parts", "\(good).", .malformed),
            ("four parts, the last full", "\(good).\(signature)", .malformed),
            ("five parts, as a JWE", "\(header)...\(payload).\(signature)", .malformed),
            ("a space before", " \(good)", .malformed), ("a space after", "\(good) ", .malformed),
            ("a newline after", "\(good)\n", .malformed),
            ("a tab within", "\(header).\t\(payload).\(signature)", .malformed),
            ("a NUL after", "\(good)\0", .malformed), ("Bearer before", "Bearer \(good)", .malformed),
            ("quotes", "\"\(good)\"", .malformed), ("the token twice", good + good, .malformed),
            ("a full-width point", "\(header)．\(payload).\(signature)", .malformed),
            ("a padded signature", "\(header).\(payload).\(signature)=", .malformed),
            ("all parts padded to fours", padded.joined(separator: ".") + "=", .malformed),
            ("a character of the other alphabet", "\(header).\(payload).+\(signature.dropFirst())", .malformed),
            ("a slash", "\(header).\(payload).\(signature.dropLast())/", .malformed),
            ("percent signs", "\(header)%2E\(payload)%2E\(signature)", .malformed),
            (
                "JSON serialization",
                #"{"payload":"\#(payload)","protected":"\#(header)","signature":"\#(signature)"}"#, .malformed
            ),
            ("13 KiB", long, .tooLong), ("12289 bytes of points", String(repeating: ".", count: 12_289), .tooLong),
            ("parts exchanged", "\(payload).\(header).\(signature)", .malformed),
        ]
        return rows.map { Forgery("\(signer): \($0.0)", $0.1, verifier, $0.2) }
            + [
                Forgery("\(signer): broken UTF-8", Array(good.utf8) + [0xFF], verifier, .malformed),
                Forgery("\(signer): all byte values", Array(0...255), verifier, .malformed),
            ]
    }

    /// Returns tokens with a correct signature whose header must be refused, and unsigned tokens with spellings of
    /// `none` as their `alg`.
    private static func headers(_ signer: Signer) throws -> [Forgery] {
        let verifier = try signer.verifier()
        let alg = signer.algorithm
        let jwk = #"{"kty":"oct","k":"AAAA"}"#
        let deep = String(repeating: "[", count: 2500) + String(repeating: "]", count: 2500)
        let rows: [(String, String, TokenError)] = [
            ("none", #"{"alg":"none"}"#, .algorithm), ("None", #"{"alg":"None"}"#, .algorithm),
            ("NONE", #"{"alg":"NONE"}"#, .algorithm), ("nOnE", #"{"alg":"nOnE"}"#, .algorithm),
            ("none and a space", #"{"alg":"none "}"#, .algorithm),
            ("none by escapes", #"{"alg":"\u006eone"}"#, .algorithm),
            ("an empty alg", #"{"alg":""}"#, .algorithm), ("alg null", #"{"alg":null}"#, .malformed),
            ("alg a number", #"{"alg":256}"#, .malformed), ("alg a list", #"{"alg":["\#(alg)"]}"#, .malformed),
            ("alg an object", #"{"alg":{"\#(alg)":1}}"#, .malformed), ("no alg", #"{"typ":"JWT"}"#, .malformed),
            ("Alg", #"{"Alg":"\#(alg)"}"#, .malformed),
            ("alg in lower case", #"{"alg":"\#(alg.lowercased())"}"#, .algorithm),
            ("alg and a space", #"{"alg":"\#(alg) "}"#, .algorithm),
            ("alg and NUL", #"{"alg":"\#(alg)\u0000"}"#, .algorithm),
            ("HS384", #"{"alg":"HS384"}"#, .algorithm), ("HS512", #"{"alg":"HS512"}"#, .algorithm),
            ("RS384", #"{"alg":"RS384"}"#, .algorithm), ("RS512", #"{"alg":"RS512"}"#, .algorithm),
            ("PS256", #"{"alg":"PS256"}"#, .algorithm), ("ES384", #"{"alg":"ES384"}"#, .algorithm),
            ("ES256K", #"{"alg":"ES256K"}"#, .algorithm), ("EdDSA", #"{"alg":"EdDSA"}"#, .algorithm),
            ("two algs", #"{"alg":"\#(alg)","alg":"\#(alg)"}"#, .malformed),
            ("none before", #"{"alg":"none","alg":"\#(alg)"}"#, .malformed),
            ("none behind, its name by escapes", #"{"alg":"\#(alg)","\u0061lg":"none"}"#, .malformed),
            ("a member twice in depth", #"{"alg":"\#(alg)","x":{"y":1,"y":2}}"#, .malformed),
            ("crit", #"{"alg":"\#(alg)","crit":["exp"],"exp":1}"#, .unsupportedHeader),
            ("an empty crit", #"{"alg":"\#(alg)","crit":[]}"#, .unsupportedHeader),
            ("crit null", #"{"alg":"\#(alg)","crit":null}"#, .unsupportedHeader),
            ("b64 false", #"{"alg":"\#(alg)","b64":false,"crit":["b64"]}"#, .unsupportedHeader),
            ("b64 true", #"{"alg":"\#(alg)","b64":true}"#, .unsupportedHeader),
            ("enc", #"{"alg":"\#(alg)","enc":"A128GCM"}"#, .unsupportedHeader),
            ("a logout token", #"{"alg":"\#(alg)","typ":"logout+jwt"}"#, .unsupportedHeader),
            ("a DPoP proof", #"{"alg":"\#(alg)","typ":"dpop+jwt","jwk":\#(jwk)}"#, .unsupportedHeader),
            ("typ a number", #"{"alg":"\#(alg)","typ":1}"#, .malformed),
            ("kid a number", #"{"alg":"\#(alg)","kid":1}"#, .malformed),
            ("kid null", #"{"alg":"\#(alg)","kid":null}"#, .malformed), ("a list", #"["\#(alg)"]"#, .malformed),
            ("a string", #""\#(alg)""#, .malformed), ("null", "null", .malformed), ("empty text", " ", .malformed),
            ("two objects", #"{"alg":"\#(alg)"}{"alg":"\#(alg)"}"#, .malformed),
            ("a byte-order mark", "\u{FEFF}{\"alg\":\"\(alg)\"}", .malformed),
            ("a comma at the end", #"{"alg":"\#(alg)",}"#, .malformed),
            ("single quotes", "{'alg':'\(alg)'}", .malformed),
            ("a comment", #"{"alg":"\#(alg)"/**/}"#, .malformed),
            ("a number for a key", #"{1:2,"alg":"\#(alg)"}"#, .malformed),
            ("NUL after", "{\"alg\":\"\(alg)\"}\0", .malformed),
            ("depth", #"{"alg":"\#(alg)","x":\#(deep)}"#, .malformed),
            ("half a surrogate pair", #"{"alg":"\#(alg)","x":"\uD800"}"#, .malformed),
        ]
        let unsigned = rows.prefix(6).map { row in
            let header = Base64URL.encode(Array(row.1.utf8))
            let payload = Base64URL.encode(Array(TestKeys.payload.utf8))
            return Forgery("\(signer): unsigned \(row.0)", "\(header).\(payload).", verifier, .malformed)
        }
        return unsigned
            + rows.map {
                Forgery(
                    "\(signer): header \($0.0)",
                    signer.token(header: $0.1, payload: TestKeys.payload),
                    verifier,
                    $0.2
                )
            }
    }

    /// Returns tokens with a signature that does not belong to their header and payload.
    private static func signatures(_ signer: Signer) throws -> [Forgery] {
        let verifier = try signer.verifier()
        let good = signer.token(payload: TestKeys.payload)
        let end = good.lastIndex(of: ".") ?? good.startIndex
        let signed = String(good[..<end])
        let signature = Base64URL.decode(String(good[good.index(after: end)...])) ?? []
        var flippedFirst = signature
        flippedFirst[0] ^= 0x80
        var flippedLast = signature
        flippedLast[signature.count - 1] ^= 1
        let other = Base64URL.encode(Array(TestKeys.payload.replacing("\"11\"", with: "\"12\"").utf8))
        let header = String(signed.prefix { $0 != "." })
        let rows: [(String, [UInt8])] = [
            ("one byte", [0]), ("first bit flipped", flippedFirst), ("last bit flipped", flippedLast),
            ("one byte short", Array(signature.dropLast())), ("first byte gone", Array(signature.dropFirst())),
            ("half", Array(signature.prefix(signature.count / 2))), ("one byte more", signature + [0]),
            ("a zero before", [0] + signature), ("twice", signature + signature),
            ("zeros", [UInt8](repeating: 0, count: signature.count)),
            ("ones", [UInt8](repeating: 255, count: signature.count)),
            ("reversed", signature.reversed()), ("the digest alone", SHA256.hash(signed)),
            ("of the payload alone", signer.sign(Array(signed.drop { $0 != "." }.dropFirst().utf8))),
            ("of the decoded parts", signer.sign(Array(TestKeys.payload.utf8))),
            ("of the digest", signer.sign(SHA256.hash(signed))), ("of nothing", signer.sign([])),
            ("5 KiB", [UInt8](repeating: 7, count: 5120)),
        ]
        return rows.map {
            Forgery("\(signer): signature \($0.0)", "\(signed).\(Base64URL.encode($0.1))", verifier, .signature)
        }
            + [
                Forgery(
                    "\(signer): another payload",
                    "\(header).\(other).\(Base64URL.encode(signature))",
                    verifier,
                    .signature
                ),
                Forgery(
                    "\(signer): another header",
                    "\(Base64URL.encode(Array(#"{"typ":"JWT","alg":"\#(signer.algorithm)"}"#.utf8))).\(signed.drop { $0 != "." }.dropFirst()).\(Base64URL.encode(signature))",
                    verifier,
                    .signature
                ),
            ]
    }

    /// Returns tokens whose header names another algorithm than that of the key that signed or verifies them, and HS256
    /// tokens that were signed with a wrong secret.
    private static func algorithms(_ keys: TestKeys) throws -> [Forgery] {
        var rows: [Forgery] = []
        let all = [keys.hs256, keys.rs256, keys.es256]
        let mixed = try TokenVerifier(keys: all.map(\.source))
        for claimed in all {
            for signer in all where signer.algorithm != claimed.algorithm {
                let token = signer.token(header: #"{"alg":"\#(claimed.algorithm)"}"#, payload: TestKeys.payload)
                rows.append(Forgery("\(claimed) said, \(signer) signed", token, try claimed.verifier(), .signature))
                rows.append(Forgery("\(claimed) said, \(signer) signed, both known", token, mixed, .signature))
                let honest = signer.token(payload: TestKeys.payload)
                rows.append(
                    Forgery("\(signer) where only \(claimed) is known", honest, try claimed.verifier(), .algorithm)
                )
            }
        }
        // A well-known attack: the public key, which anyone can have, is used as the HS256 secret.
        let modulus = try keys.rsaKey.number("n")
        let secrets: [(String, [UInt8])] = [
            ("RSA PEM", Array(keys.rsaPEM.utf8)), ("EC PEM", Array(keys.ecPEM.utf8)),
            ("RSA PEM without its newline", Array(keys.rsaPEM.utf8.dropLast())), ("RSA modulus", modulus),
            ("nothing", []),
            ("a zero", [0]), ("another secret", Array("secret".utf8)),
        ]
        for (name, secret) in secrets {
            let token = TokenIssuer(secret: secret).issue(user: "11", now: TestKeys.now)
            rows.append(Forgery("HS256 by \(name), RS256 known", token, try keys.rs256.verifier(), .algorithm))
            rows.append(Forgery("HS256 by \(name), ES256 known", token, try keys.es256.verifier(), .algorithm))
            rows.append(Forgery("HS256 by \(name), all known", token, mixed, .signature))
        }
        return rows
    }

    /// Returns tokens whose ES256 signature has another encoding, or values of r and s that other implementations
    /// wrongly accepted (CVE-2022-21449).
    private static func ecSignatures(_ keys: TestKeys) throws -> [Forgery] {
        let verifier = try keys.es256.verifier()
        let signed = keys.es256.token(payload: TestKeys.payload).split(separator: ".").prefix(2).joined(separator: ".")
        let good = keys.es256.sign(Array(signed.utf8))
        let order = Hex.decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551") ?? []
        let prime = Hex.decode("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff") ?? []
        let zero = [UInt8](repeating: 0, count: 32)
        let one = Array(zero.dropLast()) + [1]
        let (r, s) = (Array(good.prefix(32)), Array(good.suffix(32)))
        func integer(_ bytes: [UInt8]) -> [UInt8] { [0x02, UInt8(bytes.count + 1), 0x00] + bytes }
        func der(_ r: [UInt8], _ s: [UInt8]) -> [UInt8] {
            [0x30, UInt8(r.count + s.count + 6)] + integer(r) + integer(s)
        }
        let r31 = Array(r.dropFirst())
        let s33 = [0] + s
        let rows: [(String, [UInt8])] = [
            ("DER", der(r, s)), ("DER of zeros", der([0], [0])), ("r and s exchanged", s + r), ("r twice", r + r),
            ("r = 0", zero + s), ("s = 0", r + zero), ("r = s = 0", zero + zero), ("r = s = 1", one + one),
            ("r = n", order + s), ("s = n", r + order), ("r = s = n", order + order), ("r = p", prime + s),
            ("r = n, s = 0", order + zero), ("r = 0, s = 1", zero + one), ("r = 1, s = 0", one + zero),
            ("r of 31 bytes, s of 33", r31 + s33), ("65 bytes with a 4 before", [4] + good), ("r alone", r),
            ("of P-384's length", good + zero),
            ("another key's", try P256SigningKey.generate().sign(Array(signed.utf8))),
        ]
        return rows.map { Forgery("ES256 \($0.0)", "\(signed).\(Base64URL.encode($0.1))", verifier, .signature) }
    }

    /// Returns tokens whose RSA signature was made with another padding, digest or key, or is a number that no key has
    /// made.
    private static func rsaSignatures(_ keys: TestKeys) throws -> [Forgery] {
        let verifier = try keys.rs256.verifier()
        let signed = keys.rs256.token(payload: TestKeys.payload).split(separator: ".").prefix(2).joined(separator: ".")
        let message = Array(signed.utf8)
        let modulus = try keys.rsaKey.number("n")
        // The block of EMSA-PKCS1-v1_5 without the RSA operation; it would be valid for a key whose exponent is 1.
        let info = Hex.decode("3031300d060960864801650304020105000420") ?? []
        let filler = [UInt8](repeating: 255, count: 256 - 3 - info.count - 32)
        let block = [0, 1] + filler + [0] + info + SHA256.hash(signed)
        let rows: [(String, [UInt8])] = [
            ("PSS", keys.rsaKey.sign(message, padding: RSA_PKCS1_PSS_PADDING)),
            ("SHA-1", keys.rsaKey.sign(message, digest: "SHA1")),
            ("SHA-512", keys.rsaKey.sign(message, digest: "SHA512")),
            ("another key's", try RSATestKey(bits: 2048).sign(message)), ("the modulus", modulus),
            ("the padded digest in the clear", block), ("1", [UInt8](repeating: 0, count: 255) + [1]),
        ]
        return rows.map { Forgery("RS256 \($0.0)", "\(signed).\(Base64URL.encode($0.1))", verifier, .signature) }
    }

    /// Returns tokens whose `kid` names a wrong or an unknown key.
    private static func keyIDs(_ keys: TestKeys) throws -> [Forgery] {
        func jwk(_ id: String, _ secret: [UInt8]) -> String {
            #"{"kty":"oct","kid":"\#(id)","k":"\#(Base64URL.encode(secret))"}"#
        }
        let other = Array("another secret of thirty-two bytes".utf8)
        let n = Base64URL.encode(try keys.rsaKey.number("n"))
        let set =
            #"{"keys":[\#(jwk("K", TestKeys.secret)),\#(jwk("b", other)),{"kty":"RSA","kid":"r","n":"\#(n)","e":"AQAB"}]}"#
        let verifier = try TokenVerifier(keys: [.keySet(json: Array(set.utf8))])
        let rows: [(String, String, TokenError)] = [
            ("of another key", "b", .signature), ("of a key of another algorithm", "r", .unknownKey),
            ("unknown", "c", .unknownKey), ("empty", "", .unknownKey), ("in lower case", "k", .unknownKey),
            ("the Kelvin sign", "\u{212A}", .unknownKey), ("a path", "../../../dev/null", .unknownKey),
            ("SQL", "K' OR '1'='1", .unknownKey), ("and NUL", #"K\u0000"#, .unknownKey),
        ]
        return rows.map {
            Forgery(
                "kid \($0.0)",
                keys.hs256.token(header: #"{"alg":"HS256","kid":"\#($0.1)"}"#, payload: TestKeys.payload),
                verifier,
                $0.2
            )
        }
    }
}
