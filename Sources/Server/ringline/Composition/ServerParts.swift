import ServerLog
import Threads

/// What a start makes from the settings before the gateway: the audit log, the keys and the certificate.
struct ServerParts {
    let audit: AuditLog
    let keys: Keys
    let coturn: CoturnCredentials?
    let renewal: CertificateRenewal?
    /// Warnings for the operator, to be logged once everything else has succeeded.
    let warnings: [String]

    init(_ settings: ServeSettings, _ clock: ServerClock, _ log: ServerLog) throws(UsageError) {
        audit = try AuditLog(settings.auditLog)
        keys = try Keys(settings, audit: audit, at: clock.now(), log)
        var warnings = settings.warnings + keys.warnings
        coturn = try settings.turn.map { turn throws(UsageError) in
            try CoturnCredentials(turn, clock) { warnings.append($0) }
        }
        renewal = try settings.tls.map { files throws(UsageError) in try CertificateRenewal(files, log) }
        self.warnings = warnings
    }

    /// Fetches the issuer's published keys; `nil` without `--jwks-url`.
    var keySetFetcher: KeySetFetcher? { keys.tokens.keySetFetcher }
}
