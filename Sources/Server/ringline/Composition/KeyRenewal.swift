import ServerLog
import Threads

/// Reads keys again while the server runs: the keys that verify tokens, the TURN secret, the APNs key, Firebase's
/// service account, the secrets of requests to the app's backend, and the server's own.
///
/// Each kind is read separately. If a new key cannot be used, an error with the key's path is logged and the previous
/// key stays in use.
struct KeyRenewal: Sendable {
    /// Reads the settings again, because a new key may have another path, and a new key from Apple has another id.
    let settings: @Sendable () throws(UsageError) -> ServeSettings
    let tokens: TokenKeys
    let capabilityKeys: CapabilityKeys
    let coturn: CoturnCredentials?
    let push: PushServices
    let backend: BackendClients
    let clock: ServerClock
    let audit: AuditLog
    let log: ServerLog

    /// Reads all keys again; called on SIGHUP.
    func load() {
        let settings: ServeSettings
        do throws(UsageError) { settings = try self.settings() } catch {
            log.error(
                "the settings cannot be reloaded; all keys stay as they are",
                [.error(about: OperatorText("\(error)"))]
            )
            return
        }
        attempt("jwt") { warn throws(UsageError) in try tokens.load(settings, warn: warn) }
        attempt("act") { _ throws(UsageError) in try capabilityKeys.load(at: clock.now()) }
        attempt("turn", isConfigured: settings.turn != nil, isInUse: coturn != nil) { warn throws(UsageError) in
            if let turn = settings.turn { try coturn?.load(turn, warn: warn) }
        }
        attempt("events", isConfigured: settings.backend != nil, isInUse: backend.isAny) { _ throws(UsageError) in
            if let new = settings.backend { try backend.useSecrets(of: new) }
        }
        let application = ServerApplication(settings)
        for setup in PushSetup.all where setup.renewsKeys {
            attempt(setup.name, isConfigured: setup.isConfigured(settings), isInUse: push.has(setup)) {
                _ throws(UsageError) in try push.useKeys(of: setup, application)
            }
        }
    }

    /// Replaces the server's own key once the key is a day old; called once a second.
    func tick() {
        do throws(UsageError) {
            guard try capabilityKeys.rotate(at: clock.now()) else { return }
            log.info(
                "the key of push capabilities was replaced; the previous one is accepted until its capabilities expire"
            )
            audit.write("keys_replaced", [("keys", .text("act"))])
        } catch {
            log.error(
                "the key of push capabilities cannot be replaced; the previous one stays in use",
                [.error(about: OperatorText("\(error)"))]
            )
        }
    }

    private func attempt(
        _ keys: String,
        isConfigured: Bool = true,
        isInUse: Bool = true,
        _ load: (_ warn: (String) -> Void) throws(UsageError) -> Void
    ) {
        guard isConfigured || isInUse else { return }
        do throws(UsageError) {
            guard isConfigured, isInUse else {
                throw UsageError(
                    "\(isInUse ? "removing all of them" : "adding the first one") takes a restart"
                )
            }
            try load { log.warning(about: OperatorText($0)) }
            log.notice("keys were reloaded", [.keys(ServerText(keys))])
            audit.write("keys_read", [("keys", .text(keys))])
        } catch {
            log.error(
                "keys cannot be used; the previous ones stay in use",
                [.keys(ServerText(keys)), .error(about: OperatorText("\(error)"))]
            )
        }
    }
}
