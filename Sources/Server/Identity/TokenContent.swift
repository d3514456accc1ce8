import CallCore
import Crypto
import JSON

/// The content of a token with a valid signature: the claims, and the period of validity.
struct TokenContent {
    let claims: Claims
    let notBeforeSeconds: Int64?

    init(payload: [UInt8], token: [UInt8], rules: TokenRules) throws(TokenError) {
        let parsed: JSONValue
        do { parsed = try JSONValue(payload) } catch { throw .malformed }
        guard case .object(let object) = parsed else { throw .malformed }

        if let issuer = rules.issuer, object["iss"]?.text != Array(issuer.utf8) { throw .issuer }
        if let audience = rules.audience {
            let named = object["aud"].flatMap { value in value.text.map { [$0] } ?? value.texts }
            guard named?.contains(Array(audience.utf8)) == true else { throw .audience }
        }
        notBeforeSeconds = try Self.date("nbf", of: object)
        let expires = try Self.date("exp", of: object)
        guard expires != nil || !rules.requireExpiry else { throw .noExpiry }

        let (user, isInteger) = try Self.user(of: object, rules: rules)
        var claims = Claims(
            user: user,
            userIsInteger: isInteger,
            name: Self.name(of: object),
            device: try object["device"].map { value throws(TokenError) in
                try Self.id("device", value, of: DeviceID.init).id
            },
            rooms: try Self.rooms(of: object),
            isService: try Self.isService(object),
            expiresAtSeconds: expires,
            issuedAtSeconds: Self.issue(of: object),
            fingerprint: Self.fingerprint(of: object, token: token)
        )
        claims.told = Self.told(of: object, rules.toldClaims)
        self.claims = claims
    }

    /// Checks whether the token is valid now (RFC 7519, sections 4.1.4 and 4.1.5).
    ///
    /// With a leeway of 60, the token is valid from the second `nbf` - 60 to the second `exp` + 59.
    func checkTime(atSeconds now: Int64, rules: TokenRules) throws(TokenError) {
        // Neither sum can overflow: dates and leeway are at most 2^53.
        if let start = notBeforeSeconds, now < start - rules.leewaySeconds { throw .notYetValid }
        if let end = claims.expiresAtSeconds, now >= end + rules.leewaySeconds { throw .expired }
    }

    /// Reads a NumericDate: a number of seconds, with or without a fraction.
    ///
    /// A fraction is rounded up: a clock of whole seconds passes the date at the same moment as the rounded date. A date
    /// before 1970 becomes 0, and one above 2^53, also one beyond every `Double`, becomes 2^53: some issuers write such
    /// dates for "always" and "never".
    private static func date(_ name: String, of object: JSONMembers) throws(TokenError) -> Int64? {
        guard let value = object[name] else { return nil }
        guard case .number(let number) = value else { throw .claim(name) }
        return Int64(min(max(number.double.rounded(.up), 0), 0x1p53))
    }

    /// Reads when the token was issued.
    ///
    /// An `iat` that is not a valid date counts as absent, because `iat` proves nothing by itself.
    private static func issue(of object: JSONMembers) -> Int64? {
        guard case .number(let number)? = object["iat"] else { return nil }
        let seconds = number.double
        guard seconds.isFinite, seconds >= 0 else { return nil }
        // The date is rounded down, so that in doubt the token counts as older and a revocation covers it.
        return Int64(min(seconds.rounded(.down), 0x1p53))
    }

    private static func user(
        of object: JSONMembers,
        rules: TokenRules
    ) throws(TokenError) -> (id: UserID, isInteger: Bool) {
        for name in rules.userClaim.map({ [$0] }) ?? ["sub", "uid"] {
            guard let value = object[name] else { continue }
            return try id(name, value, of: UserID.init)
        }
        throw .noUser
    }

    /// Reads an id: a string of the ids' alphabet, or a non-negative integer, whose digits are then the id.
    ///
    /// An integer may have more digits than a 64-bit integer or a `Double` keeps, because it is never read as a number.
    private static func id<ID>(
        _ name: String,
        _ value: JSONValue,
        of type: (String) -> ID?
    ) throws(TokenError) -> (id: ID, isInteger: Bool) {
        switch value {
        case .string(let bytes):
            guard let id = type(String(decoding: bytes, as: UTF8.self)) else { throw .claim(name) }
            return (id, false)
        case .number(let number):
            guard let id = number.digits.flatMap(type) else { throw .claim(name) }
            return (id, true)
        case .null, .bool, .array, .object:
            throw .claim(name)
        }
    }

    /// Reads the name; a name that is not text counts as absent, because it is only displayed.
    private static func name(of object: JSONMembers) -> String? {
        for claim in ["name", "u"] {
            if let text = object[claim]?.text, !text.isEmpty { return String(decoding: text, as: UTF8.self) }
        }
        return nil
    }

    private static func rooms(of object: JSONMembers) throws(TokenError) -> [String] {
        guard let value = object["rooms"] else { return [] }
        guard let texts = value.texts else { throw .claim("rooms") }
        return texts.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads `scope`: words separated by spaces (RFC 8693, section 4.2), or an array of words, as some issuers write
    /// it.
    private static func isService(_ object: JSONMembers) throws(TokenError) -> Bool {
        guard let value = object["scope"] else { return false }
        let words = value.text.map { $0.split(separator: 0x20).map(Array.init) } ?? value.texts
        guard let words else { throw .claim("scope") }
        return words.contains(Array("server".utf8))
    }

    private static func told(of object: JSONMembers, _ names: [String]) -> [UInt8] {
        guard !names.isEmpty else { return [] }
        var json = JSONWriter()
        for name in names {
            guard let value = object[name] else { continue }
            json.name(escaping: name)
            json.value(value)
        }
        return json.bytes.count <= Claims.toldBytes ? json.bytes : []
    }

    private static func fingerprint(of object: JSONMembers, token: [UInt8]) -> TokenFingerprint {
        let id = object["jti"]?.text ?? []
        return TokenFingerprint(
            rawValue: SHA256.hash(id.isEmpty ? token : id).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        )
    }
}
