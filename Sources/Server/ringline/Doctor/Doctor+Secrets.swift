import Diagnostics
import Glibc
import Identity
import LibWebSockets

extension Doctor {
    /// Returns a finding for each secret file that every user of this machine can read.
    ///
    /// If others can read none of them, returns one finding for all; if there are no secret files, returns none.
    func secretFiles() -> [Finding] {
        let subject = "secrets"
        let pushes = PushSetup.all.map { $0.secret(settings) }
        let named: [(String, String?)] =
            [("--jwt-secret-file", settings.jwtSecretFile)] + pushes.map { ("--" + $0.setting, $0.path) } + [
                ("--tls-key", settings.tls?.keyPath), ("--turn-secret-file", settings.turn?.secretFile),
                ("--store-password-file", settings.storePasswordFile),
                ("--events-secret-file", settings.backend?.secretFile),
            ]
        let made = [ServerKeys.fileName, DevelopmentKey.fileName].map { ("", "\(settings.data)/\($0)") }
        let files = named.compactMap { name, path in path.map { (name, $0) } } + (settings.isInMemory ? [] : made)
        let there = files.filter { access($0.1, F_OK) == 0 }
        guard !there.isEmpty else { return [] }
        let open = there.filter { FileAccess.isOpen(toAll: $0.1) }
        guard !open.isEmpty else { return [.ok(subject, "no other user of this machine can read them")] }
        return open.map { name, path in
            let text = "\(name.isEmpty ? "" : "\(name) ")\(path) can be read by every user of this machine"
            return .warning(subject, text, fix: "chmod 600 and chown it to the user that runs ringline")
        }
    }

    /// Checks that the issuer's published keys can be fetched and used.
    ///
    /// Returns `nil` if none are configured, or if the doctor may not use the network.
    func publishedKeys() -> Finding? {
        guard let jwks = settings.jwks, usesNetwork else { return nil }
        let subject = "JWKS \(jwks.url)"
        let fix =
            "check the address, the network and --jwks-ca-file; "
            + "without these keys the server refuses the tokens that are signed with them"
        do throws(UsageError) {
            let fetched = try KeySetFetcher.fetch(jwks)
            let verifier: TokenVerifier
            do throws(TokenKeyError) {
                verifier = try TokenVerifier(keys: [.publishedKeySet(json: fetched.json)])
            } catch {
                throw UsageError(error.description)
            }
            guard verifier.warnings.isEmpty else {
                return .warning(
                    subject,
                    verifier.warnings.joined(separator: "; "),
                    fix: "publish only keys for signatures"
                )
            }
            let life = fetched.life.map { "fresh for \($0 / 1_000) s" } ?? "without Cache-Control"
            return .ok(subject, "\(verifier.keyCount) keys (\(verifier.algorithms.joined(separator: ", "))), \(life)")
        } catch { return .error(subject, error.description, fix: fix) }
    }
}
