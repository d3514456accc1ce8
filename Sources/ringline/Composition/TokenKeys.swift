import Gateway
import Identity
import Logging
import Threads

/// The keys that tokens are checked with, which may be read and fetched anew while the server runs.
final class TokenKeys: Sendable {
    private let state: Locked<State>
    /// What fetches the issuer's published keys; `nil` where none are configured.
    let feed: KeySetFeed?

    private struct State {
        /// From files.
        var own: [TokenKeySource]
        /// From the issuer; `nil` until they have come.
        var published: [UInt8]?
        var rules: TokenRules
        /// Whether the settings name no key, and the data folder's own holds.
        var isDevelopment = false
        /// `nil` as long as there is no key at all.
        var verifier: TokenVerifier?

        /// Makes the verifier anew from all keys; says what an operator should know of them.
        mutating func rebuild() throws(TokenKeyError) -> [String] {
            let sources = own + (published.map { [.publishedKeySet(json: $0)] } ?? [])
            verifier = sources.isEmpty ? nil : try TokenVerifier(keys: sources, rules: rules)
            return verifier?.warnings ?? []
        }
    }

    /// Reads the keys that the settings name; `warn` gets what an operator should know of them.
    init(_ settings: ServeSettings, _ log: Logger, warn: (String) -> Void) throws(Complaint) {
        let state = Locked(try Self.read(settings, warn: warn))
        self.state = state
        feed = try settings.jwks.map { keys throws(Complaint) in
            try KeySetFeed(keys, log: log) { json throws(Complaint) in try Self.take(json, into: state, log) }
        }
    }

    /// Who bears a token.
    func verify(_ token: String, atSeconds now: Int64) throws(TokenError) -> Claims {
        guard let verifier = state.withLock({ $0.verifier }) else { throw .unknownKey }
        return try verifier.verify(token, atSeconds: now)
    }

    /// Whether a token was refused for a key that may be there in a moment: has it fetched.
    func mayLearn(of error: TokenError) -> Bool {
        guard let feed else { return false }
        switch error {
        case .unknownKey, .algorithm: return feed.missed()
        // Before the set has come, keys without a name are held against whatever there is.
        case .signature: return feed.isEmpty && feed.missed()
        default: return false
        }
    }

    /// Reads the keys of files anew; when they cannot be used, those before stay.
    ///
    /// Those of the issuer are fetched anew.
    func load(_ settings: ServeSettings, warn: (String) -> Void) throws(Complaint) {
        guard settings.jwks == feed?.keys else { throw Complaint("another --jwks-url takes a restart") }
        // A file of settings that somebody is just writing must not log everybody out, nor let in whoever knows that key.
        guard Self.namesKeys(settings) || state.withLock({ $0.isDevelopment }) else {
            throw Complaint("the settings name no JWT key any more, and the development key takes a restart")
        }
        var new = try Self.read(settings, warn: warn)
        do throws(TokenKeyError) {
            try state.withLock { state throws(TokenKeyError) in
                new.published = state.published
                _ = try new.rebuild()
                state = new
            }
        } catch { throw Complaint(error.description) }
        feed?.hurry()
    }

    private static func namesKeys(_ settings: ServeSettings) -> Bool {
        settings.jwtSecretFile != nil || settings.jwtPublicKeyFile != nil || settings.jwksFile != nil
            || settings.jwks != nil
    }

    private static func read(_ settings: ServeSettings, warn: (String) -> Void) throws(Complaint) -> State {
        var sources = try Keys.configured(settings, warn: warn)
        if !namesKeys(settings) {
            guard !settings.isInMemory else {
                throw Complaint("--data :memory: keeps no development key: give --jwt-secret-file or another key")
            }
            do throws(SecretFileError) {
                sources.append(.secret(try DevelopmentKey.loadOrCreate(inFolder: settings.data)))
            } catch { throw Complaint(error.description) }
            warn("no JWT key is configured: tokens are checked with the data folder's development key")
        }
        let rules = TokenRules(
            userClaim: settings.jwtUserClaim,
            issuer: settings.jwtIssuer,
            audience: settings.jwtAudience,
            requireExpiry: settings.jwtRequireExpiry
        )
        var state = State(own: sources, published: nil, rules: rules, isDevelopment: !namesKeys(settings))
        do throws(TokenKeyError) { for warning in try state.rebuild() { warn(warning) } } catch {
            throw Complaint(error.description)
        }
        return state
    }

    /// Takes a fetched set into use; says how many keys it has.
    private static func take(_ json: [UInt8], into state: Locked<State>, _ log: Logger) throws(Complaint) -> Int {
        do throws(TokenKeyError) {
            // By itself first: what is wrong with it must not be laid at the other keys' door.
            let alone = try TokenVerifier(keys: [.publishedKeySet(json: json)])
            let isNew = try state.withLock { state throws(TokenKeyError) in
                guard state.published != json else { return false }
                var new = state
                new.published = json
                _ = try new.rebuild()
                state = new
                return true
            }
            if isNew { for warning in alone.warnings { log.warning("\(warning)") } }
            return alone.keyCount
        } catch { throw Complaint(error.description) }
    }
}
