import CallCore
import CallPorts
import CallWire
import Crypto
import Gateway
import Identity
import ServerLog
import Switchboard

/// The keys that verify tokens, and the server's own signing keys.
struct Keys {
    let tokens: TokenKeys
    let capabilityKeys: CapabilityKeys
    let authenticator: JWTAuthenticator
    let capabilities: RingCapabilities

    /// Warnings for the operator, to be logged once everything else has succeeded.
    let warnings: [String]

    init(_ settings: ServeSettings, audit: AuditLog, at now: Int64, _ log: ServerLog) throws(UsageError) {
        var warnings: [String] = []
        tokens = try TokenKeys(settings, log) { warnings.append($0) }
        capabilityKeys = try CapabilityKeys(settings, at: now)
        authenticator = JWTAuthenticator(tokens: tokens, capabilityKeys: capabilityKeys, audit: audit, log: log)
        capabilities = RingCapabilities(keys: capabilityKeys)
        self.warnings = warnings
    }

    /// Reads and checks the keys that the settings name; returns an empty array if they name none.
    ///
    /// `warn` is called for oddities that do not prevent the start.
    static func configured(
        _ settings: ServeSettings,
        warn: (String) -> Void
    ) throws(UsageError) -> [TokenKeySource] {
        var sources: [TokenKeySource] = []
        if let path = settings.jwtSecretFile {
            let secret = try secret(path, for: "jwt-secret-file", warn: warn)
            sources.append(try checked(.secret(secret), "--jwt-secret-file", path))
        }
        if let path = settings.jwtPublicKeyFile {
            let pem = String(decoding: try read(path, for: "jwt-public-key-file"), as: UTF8.self)
            sources.append(try checked(.publicKey(pem: pem), "--jwt-public-key-file", path))
        }
        if let path = settings.jwksFile {
            sources.append(try checked(.keySet(json: try read(path, for: "jwks-file")), "--jwks-file", path))
        }
        return sources
    }

    /// Returns warnings for the operator about keys that are usable.
    static func warnings(of sources: [TokenKeySource]) throws(UsageError) -> [String] {
        do { return try TokenVerifier(keys: sources).warnings } catch { throw UsageError(error.description) }
    }

    /// Returns a key after checking that it is usable; the error for an unusable one names its option and file.
    private static func checked(
        _ source: TokenKeySource,
        _ option: String,
        _ path: String
    ) throws(UsageError) -> TokenKeySource {
        do {
            _ = try TokenVerifier(keys: [source])
        } catch {
            guard case .keySet(let json) = source, let kind = FileKind(String(decoding: json, as: UTF8.self)),
                error == .keySetSyntax
            else { throw UsageError("\(option) \(path): \(error.description)") }
            throw UsageError("\(option) \(path): it is \(kind), but must be a key set (JWKS)")
        }
        return source
    }

    /// Reads a file that a setting names; the error names that setting.
    static func read(_ path: String, for setting: String) throws(UsageError) -> [UInt8] {
        do throws(SecretFileError) { return try SecretFile.read(path) } catch {
            throw UsageError("--\(setting): \(error.description)")
        }
    }

    /// Checks that a library can read a file that a setting names; the error names that setting.
    static func requireFile(_ path: String, for setting: String) throws(UsageError) {
        if let fault = NamedFile.fault(of: path) { throw UsageError("--\(setting): \(fault.description)") }
    }

    /// Reads a secret that is text, such as a password; the error names the setting.
    static func text(_ path: String, for setting: String) throws(UsageError) -> String {
        let bytes = try read(path, for: setting)
        // libpq would take a zero byte for the end of the text.
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("--\(setting): \(path) contains a zero byte or is not UTF-8")
        }
        return text
    }

    /// Reads a secret of which every byte counts; `warn` is called if the secret looks odd.
    static func secret(_ path: String, for setting: String, warn: (String) -> Void) throws(UsageError) -> [UInt8] {
        let bytes = try read(path, for: setting)
        if let oddity = SecretFile.suspiciousTrait(of: bytes) {
            warn("the secret of --\(setting) \(path) \(oddity), and is used as it is")
        }
        return bytes
    }
}

/// Verifies tokens and capabilities, and translates their claims into the switchboard's types.
struct JWTAuthenticator: Authenticator {
    let tokens: TokenKeys
    let capabilityKeys: CapabilityKeys
    let audit: AuditLog
    let log: ServerLog

    func authenticate(capability: String, atMilliseconds now: Int64) throws(AuthenticationError) -> Principal {
        guard let fields = capabilityKeys.signer.verify(capability, nowMs: now) else {
            audit.record(.tokenRefused(cause: AuditLog.capabilityRefused, nil))
            log.debug("a token was refused", [.tokenCause(ServerText(AuditLog.capabilityRefused))])
            throw AuthenticationError.invalid("the push capability is invalid or has expired")
        }
        return Principal(
            user: fields.user,
            scope: CallScope(call: fields.callId, epoch: fields.epoch, peer: fields.peer, device: fields.device)
        )
    }

    func authenticate(_ token: String, atSeconds now: Int64) throws(AuthenticationError) -> Principal {
        do throws(TokenError) {
            let claims = try tokens.verify(token, atSeconds: now)
            var principal = Principal(
                user: claims.user,
                fingerprint: claims.fingerprint,
                name: claims.name,
                device: claims.device,
                rooms: Set(claims.rooms),
                isService: claims.isService,
                expiresAt: claims.expiresAtSeconds.map { Moment(milliseconds: $0 * 1_000) },
                issuedAt: claims.issuedAtSeconds.map { Moment(milliseconds: $0 * 1_000) },
                userIsInteger: claims.userIsInteger
            )
            principal.claims = claims.told
            return principal
        } catch {
            if tokens.mayGetKey(after: error) {
                audit.record(.tokenRefused(cause: AuditLog.keysMissing, nil))
                logRefusal(AuditLog.keysMissing, error, of: token, atSeconds: now)
                throw AuthenticationError.keysUnavailable(
                    "the keys that check tokens are being fetched; try again in a moment"
                )
            }
            audit.record(.tokenRefused(cause: error.cause, nil))
            logRefusal(error.cause, error, of: token, atSeconds: now)
            throw error == .expired ? AuthenticationError.expired(error.description) : .invalid(error.description)
        }
    }

    /// Logs why a token was refused; the token is read again for that, which costs something only at `debug`.
    private func logRefusal(_ cause: String, _ error: TokenError, of token: String, atSeconds now: Int64) {
        log.debug(
            "a token was refused",
            [.tokenCause(ServerText(cause))] + TokenRefusal(error, of: token, atSeconds: now).logFields
        )
    }
}

extension TokenRefusal {
    /// The facts as fields of a log line.
    fileprivate var logFields: [LogField?] {
        [
            expiredSeconds.map { .tokenExpired(seconds: $0) }, earlySeconds.map { .tokenEarly(seconds: $0) },
            issuer.map { .tokenIssuer(UntrustedText($0)) }, audience.map { .tokenAudience(UntrustedText($0)) },
            keyID.map { .tokenKey(UntrustedText($0)) }, algorithm.map { .tokenAlgorithm(UntrustedText($0)) },
            claim.map { .tokenClaim(ServerText($0)) },
        ]
    }
}
