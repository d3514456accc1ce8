import Gateway
import Identity
import Threads

/// The keys that tokens are checked with, which may be read anew while the server runs.
final class TokenKeys: Sendable {
    private let current: Locked<TokenVerifier>

    /// Reads the keys that the settings name; `warn` gets what an operator should know of them.
    init(_ settings: ServeSettings, warn: (String) -> Void) throws(Complaint) {
        current = Locked(try Self.read(settings, warn: warn))
    }

    /// What checks tokens at the moment.
    var verifier: TokenVerifier { current.withLock { $0 } }

    /// Reads the keys anew; when they cannot be used, those before stay.
    func load(_ settings: ServeSettings, warn: (String) -> Void) throws(Complaint) {
        let new = try Self.read(settings, warn: warn)
        current.withLock { $0 = new }
    }

    private static func read(_ settings: ServeSettings, warn: (String) -> Void) throws(Complaint) -> TokenVerifier {
        var sources = try Keys.configured(settings, warn: warn)
        if sources.isEmpty {
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
        do {
            let verifier = try TokenVerifier(keys: sources, rules: rules)
            for warning in verifier.warnings { warn(warning) }
            return verifier
        } catch { throw Complaint(error.description) }
    }
}
