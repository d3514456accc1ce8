import Gateway
import Identity
import ServerLog
import Threads

/// The keys that verify tokens; they can be read and fetched again while the server runs.
final class TokenKeys: Sendable {
    private let state: Monitor<State>
    /// Fetches the issuer's published keys; `nil` if none is configured.
    let keySetFetcher: KeySetFetcher?

    private struct State {
        /// The keys from files.
        var keysFromFiles: [TokenKeySource]
        /// The issuer's key set; `nil` until it has arrived.
        var published: [UInt8]?
        var rules: TokenRules
        /// Whether the settings name no key, so that the data folder's development key is in use.
        var isDevelopment = false
        /// The verifier; `nil` as long as there is no key at all.
        var verifier: TokenVerifier?

        /// Makes the verifier again from all keys, and returns warnings for the operator.
        mutating func rebuild() throws(TokenKeyError) -> [String] {
            let sources = keysFromFiles + (published.map { [.publishedKeySet(json: $0)] } ?? [])
            verifier = sources.isEmpty ? nil : try TokenVerifier(keys: sources, rules: rules)
            return verifier?.warnings ?? []
        }
    }

    /// Reads the keys that the settings name; `warn` receives warnings for the operator.
    init(_ settings: ServeSettings, _ log: ServerLog, warn: (String) -> Void) throws(UsageError) {
        let state = Monitor(try Self.read(settings, warn: warn))
        self.state = state
        keySetFetcher = try settings.jwks.map { keys throws(UsageError) in
            try KeySetFetcher(keys, log: log) { json throws(UsageError) in try Self.adopt(json, into: state, log) }
        }
    }

    /// Uses one key that no setting names; a token is valid up to the second that it names.
    init(secret: [UInt8]) throws(UsageError) {
        var state = State(keysFromFiles: [.secret(secret)], published: nil, rules: TokenRules(leewaySeconds: 0))
        do throws(TokenKeyError) { _ = try state.rebuild() } catch { throw UsageError(error.description) }
        self.state = Monitor(state)
        keySetFetcher = nil
    }

    /// Verifies a token and returns its claims.
    func verify(_ token: String, atSeconds now: Int64) throws(TokenError) -> Claims {
        guard let verifier = state.withLock({ $0.verifier }) else { throw .unknownKey }
        return try verifier.verify(token, atSeconds: now)
    }

    /// Returns whether a token was refused for lack of a key that may arrive in a moment; if so, starts a fetch of the
    /// issuer's keys.
    func mayGetKey(after error: TokenError) -> Bool {
        guard let keySetFetcher else { return false }
        switch error {
        case .unknownKey, .algorithm: return keySetFetcher.missed()
        // A key without an id is tried for every token. So until the issuer's set has arrived, the issuer's tokens are
        // checked with such a key of the settings, and their signature does not match.
        case .signature: return keySetFetcher.isEmpty && keySetFetcher.missed()
        default: return false
        }
    }

    /// Reads the keys of files again; if they cannot be used, the previous keys stay in use.
    ///
    /// The issuer's keys are fetched again.
    func load(_ settings: ServeSettings, warn: (String) -> Void) throws(UsageError) {
        guard settings.jwks == keySetFetcher?.keys else { throw UsageError("changing --jwks-url takes a restart") }
        // A settings file that is only half written must not log everybody out, nor accept tokens of the development
        // key.
        guard Self.namesKeys(settings) || state.withLock({ $0.isDevelopment }) else {
            throw UsageError(
                "the settings no longer name a JWT key, and changing to the development key takes a restart"
            )
        }
        var new = try Self.read(settings, warn: warn)
        do throws(TokenKeyError) {
            try state.withLock { state throws(TokenKeyError) in
                new.published = state.published
                _ = try new.rebuild()
                state = new
            }
        } catch { throw UsageError(error.description) }
        keySetFetcher?.fetchSoon()
    }

    /// Whether the settings name keys, so that the data folder's development key is not used.
    static func namesKeys(_ settings: ServeSettings) -> Bool {
        settings.jwtSecretFile != nil || settings.jwtPublicKeyFile != nil || settings.jwksFile != nil
            || settings.jwks != nil
    }

    private static func read(_ settings: ServeSettings, warn: (String) -> Void) throws(UsageError) -> State {
        var sources = try Keys.configured(settings, warn: warn)
        if !namesKeys(settings) {
            guard !settings.isInMemory else {
                throw UsageError("--data :memory: keeps no development key: give --jwt-secret-file or another key")
            }
            do throws(SecretFileError) {
                sources.append(.secret(try DevelopmentKey.loadOrCreate(inFolder: settings.data)))
            } catch { throw UsageError(error.description) }
            warn("no JWT key is configured: tokens are checked with the data folder's development key")
        }
        var rules = TokenRules(
            userClaim: settings.jwtUserClaim,
            issuer: settings.jwtIssuer,
            audience: settings.jwtAudience,
            requireExpiry: settings.jwtRequireExpiry
        )
        rules.toldClaims = settings.toldClaims
        var state = State(keysFromFiles: sources, published: nil, rules: rules, isDevelopment: !namesKeys(settings))
        do throws(TokenKeyError) { for warning in try state.rebuild() { warn(warning) } } catch {
            throw UsageError(error.description)
        }
        return state
    }

    /// Puts a fetched set into use and returns its number of keys.
    private static func adopt(_ json: [UInt8], into state: Monitor<State>, _ log: ServerLog) throws(UsageError) -> Int {
        do throws(TokenKeyError) {
            // The set is checked alone first, so that an error in it is not attributed to the other keys.
            let alone = try TokenVerifier(keys: [.publishedKeySet(json: json)])
            let isNew = try state.withLock { state throws(TokenKeyError) in
                guard state.published != json else { return false }
                var new = state
                new.published = json
                _ = try new.rebuild()
                state = new
                return true
            }
            if isNew { for warning in alone.warnings { log.warning(about: OperatorText(warning)) } }
            return alone.keyCount
        } catch { throw UsageError(error.description) }
    }
}
