import CallCore
import Crypto
import Identity
import Testing

/// The keys and tokens of RFC 7515, appendix A.
enum RFC7515 {
    static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    static let hs256 =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(payload).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let rs256 =
        "eyJhbGciOiJSUzI1NiJ9.\(payload).cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YK"
        + "t_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7"
        + "K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98r"
        + "qVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
    static let es256 =
        "eyJhbGciOiJFUzI1NiJ9.\(payload)."
        + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

    static let octKey =
        #"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#
    static let rsaKey =
        #"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d"#
        + "4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBd"
        + "QOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2eth"
        + #"FkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#
    static let ecKey =
        #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
        + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#

    /// Returns a verifier with one of the keys.
    ///
    /// The verifier reads the user from `iss`, the only claim in the tokens of the appendix that can name a user.
    static func verifier(_ key: String) throws -> TokenVerifier {
        try TokenVerifier(
            keys: [.keySet(json: Array(#"{"keys":[\#(key)]}"#.utf8))],
            rules: TokenRules(userClaim: "iss")
        )
    }
}

@Suite("The tokens of RFC 7515, appendix A")
struct RFC7515Tests {
    @Test(
        "The three signed tokens are valid until their exp plus the leeway",
        arguments: [
            (RFC7515.hs256, RFC7515.octKey), (RFC7515.rs256, RFC7515.rsaKey), (RFC7515.es256, RFC7515.ecKey),
        ]
    )
    func accepted(token: String, key: String) throws {
        let verifier = try RFC7515.verifier(key)
        let claims = try verifier.verify(token, atSeconds: 1_300_819_380 + 59)
        #expect(claims.user.text == "joe")
        #expect(claims.expiresAtSeconds == 1_300_819_380)
        #expect(throws: TokenError.expired) { try verifier.verify(token, atSeconds: 1_300_819_380 + 60) }
    }

    @Test("The unsecured token is refused", arguments: [RFC7515.octKey, RFC7515.rsaKey, RFC7515.ecKey])
    func unsecured(key: String) throws {
        let verifier = try RFC7515.verifier(key)
        let token = "eyJhbGciOiJub25lIn0.\(RFC7515.payload)."
        #expect(throws: TokenError.malformed) { try verifier.verify(token, atSeconds: 1_300_819_379) }
    }
}
