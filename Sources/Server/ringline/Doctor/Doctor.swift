import Diagnostics

/// Checks everything that a server needs before the server is started, and changes nothing.
struct Doctor {
    let settings: ServeSettings
    /// Bundle ids with topics to ask about, in addition to those of the registered devices.
    let bundles: [String]
    /// Whether the doctor may contact push services, the TURN servers, the issuer of tokens and other nodes.
    let usesNetwork: Bool
    /// The current time, in milliseconds since 1970.
    let now: Int64

    /// Makes all checks, in the order in which the findings are best read, and passes each finding to `say` as it is
    /// made.
    func examine(_ say: (Finding) -> Void) {
        for warning in settings.warnings {
            say(.warning("settings", warning, fix: "use a name from 'ringline config --table', or remove it"))
        }
        if settings.warnings.isEmpty { say(.ok("settings", "all are valid")) }
        say(jwtKeys())
        if let finding = publishedKeys() { say(finding) }
        for finding in secretFiles() { say(finding) }
        for finding in dataFolder() { say(finding) }
        let examined = database()
        for finding in examined.findings { say(finding) }
        for finding in nodes(examined.nodes) { say(finding) }
        for finding in startChecks() { say(finding) }
        say(Rating.descriptors(wanted: settings.maxConnections))
        for finding in listeners() { say(finding) }
        for finding in certificate() { say(finding) }
        if let finding = browserOrigins() { say(finding) }
        for setup in PushSetup.all { setup.examine(self, say) }
        for finding in examineRoutes() { say(finding) }
        for finding in turn() { say(finding) }
        for finding in backendAddresses() { say(finding) }
    }

    /// Makes the checks that a start makes, too.
    private func startChecks() -> [Finding] {
        StartCheck.all.compactMap { check in
            do throws(UsageError) { return try check.run(settings).map { .ok(check.subject, $0) } } catch {
                return .error(check.subject, error.description, fix: check.fix)
            }
        }
    }

    // MARK: Keys

    private func jwtKeys() -> Finding {
        let subject = "JWT keys"
        let fix = "give --jwt-secret-file, --jwt-public-key-file, --jwks-file or --jwks-url, with your backend's key"
        do throws(UsageError) {
            var oddities: [String] = []
            let sources = try Keys.configured(settings) { oddities.append($0) }
            guard !sources.isEmpty else {
                if settings.jwks != nil { return .ok(subject, "only those of --jwks-url") }
                if settings.isInMemory {
                    return .error(subject, "not configured", fix: fix)
                }
                let text = "not configured: tokens are checked with the data folder's development key"
                return .warning(subject, text, fix: fix)
            }
            let warnings = oddities + (try Keys.warnings(of: sources))
            guard warnings.isEmpty else {
                return .warning(subject, warnings.joined(separator: "; "), fix: Self.secretFix)
            }
            return .ok(subject, sources.count == 1 ? "loaded" : "\(sources.count) sources loaded")
        } catch { return .error(subject, error.description, fix: "replace it with the right file") }
    }

    static let secretFix =
        "the file must hold only the secret, 32 random bytes or more, without added spaces or line ends"
}
