import CallPorts
import CallTrace
import Diagnostics
import FoundationEssentials
import Pushes
import Switchboard
import Threads

/// A push service as this program sets it up: what its settings are, what they make, and how the doctor examines them.
struct PushSetup: Sendable {
    /// The service, and what people are told of it.
    let service: PushService
    /// Its name in the metrics, and that of its keys in the log.
    let name: String
    /// The options that it needs, for messages.
    let options: String
    /// Whether its keys can be replaced while the server runs.
    let renewsKeys: Bool
    /// The words of the log.
    let words: PushWords
    /// Returns whether it is configured.
    let isConfigured: @Sendable (ServeSettings) -> Bool
    /// Returns the setting and the path of its secret.
    let secret: @Sendable (ServeSettings) -> (setting: String, path: String?)
    /// Returns the setting and the path of the certificate authorities to trust for it.
    let authorities: @Sendable (ServeSettings) -> (setting: String, path: String?)
    /// Returns the configuration of its sender; `nil` = it is not configured.
    ///
    /// The second argument is whether a service that can do so only checks pushes.
    let configuration: @Sendable (ServerApplication, Bool) throws(UsageError) -> (any PushConfiguration)?
    /// Checks its keys, and whether it can be reached; says nothing if it is not configured and need not be.
    let examine: @Sendable (Doctor, (Finding) -> Void) -> Void

    /// All services, in the order of the doctor's findings.
    static let all = [apns, firebase, web]

    private static let apns = PushSetup(
        service: .apns,
        name: "apns",
        options: "--apns-key-file, --apns-key-id and --apns-team-id",
        renewsKeys: true,
        words: APNsConfiguration.words,
        isConfigured: { $0.apns != nil },
        secret: { ("apns-key-file", $0.apns?.keyFile) },
        authorities: { ("apns-ca-file", $0.apns?.caFile) },
        configuration: { application, _ throws(UsageError) in try application.apnsConfiguration() },
        examine: { $0.examineAPNs($1) }
    )

    private static let firebase = PushSetup(
        service: .firebase,
        name: "firebase",
        options: "--fcm-service-account-file",
        renewsKeys: true,
        words: FirebaseConfiguration.words,
        isConfigured: { $0.firebase != nil },
        secret: { ("fcm-service-account-file", $0.firebase?.accountFile) },
        authorities: { ("fcm-ca-file", $0.firebase?.caFile) },
        configuration: { application, isTest throws(UsageError) in
            guard var configuration = try application.firebaseConfiguration() else { return nil }
            configuration.onlyValidates = isTest
            return configuration
        },
        examine: { $0.examineFirebase($1) }
    )

    private static let web = PushSetup(
        service: .web,
        name: "web",
        options: "--vapid-subject",
        renewsKeys: false,
        words: WebPushConfiguration.words,
        isConfigured: { $0.webPush != nil },
        secret: { ("vapid-key-file", $0.webPush?.keyFile) },
        authorities: { ("web-push-ca-file", $0.webPush?.caFile) },
        configuration: { application, _ throws(UsageError) in try application.webPushConfiguration() },
        examine: { $0.examineWebPush($1) }
    )
}

extension ServeSettings {
    /// The push services that are not configured.
    var missingServices: [PushService] { PushSetup.all.filter { !$0.isConfigured(self) }.map(\.service) }
}

extension ServerApplication {
    /// Returns the configuration of Web Push; `nil` = Web Push is off.
    ///
    /// `makesKey`: Whether the key is made if it is missing; only a server that starts does that, and no command.
    func webPushConfiguration(makesKey: Bool = false) throws(UsageError) -> WebPushConfiguration? {
        guard let settings = settings.webPush else { return nil }
        try settings.caFile.map { path throws(UsageError) in try Self.checkAuthorities(path, for: "web-push-ca-file") }
        let key = try VAPIDKeyFile.load(
            settings.keyFile,
            makes: makesKey && settings.makesKey,
            in: self.settings.data
        )
        do throws(WebPushConfigurationError) {
            var configuration = try WebPushConfiguration(key: key, subject: settings.subject) { [clock] in
                clock.date()
            }
            configuration.hosts = self.settings.policy.webPushHosts
            configuration.caFile = settings.caFile
            configuration.expiryClock = { [clock] in clock.now() }
            return configuration
        } catch { throw UsageError("--vapid-subject: \(error)") }
    }

    /// Returns the configuration of the APNs client; `nil` = no APNs key is configured.
    func apnsConfiguration() throws(UsageError) -> APNsConfiguration? {
        guard let apns = settings.apns else { return nil }
        let key = try Keys.read(apns.keyFile, for: "apns-key-file")
        try apns.caFile.map { path throws(UsageError) in try Self.checkAuthorities(path, for: "apns-ca-file") }
        do throws(APNsConfigurationError) {
            var configuration = try APNsConfiguration(
                key: String(decoding: key, as: UTF8.self),
                keyID: apns.keyID,
                teamID: apns.teamID,
                endpoints: .init(sandbox: apns.sandbox, production: apns.production),
                caFile: apns.caFile,
                clock: { [clock] in clock.date() }
            )
            configuration.expiryClock = { [clock] in clock.now() }
            return configuration
        } catch {
            guard case .unusableKey = error else { throw UsageError(error.description) }
            throw UsageError("--apns-key-file \(apns.keyFile): \(error)")
        }
    }

    /// Returns the configuration of the Firebase client; `nil` = no service account is configured.
    func firebaseConfiguration() throws(UsageError) -> FirebaseConfiguration? {
        guard let firebase = settings.firebase else { return nil }
        let file = try Keys.read(firebase.accountFile, for: "fcm-service-account-file")
        try firebase.caFile.map { path throws(UsageError) in try Self.checkAuthorities(path, for: "fcm-ca-file") }
        let account: ServiceAccount
        do throws(ServiceAccountError) { account = try ServiceAccount(Array(file)) } catch {
            throw UsageError("--fcm-service-account-file \(firebase.accountFile): \(error)")
        }
        var configuration = FirebaseConfiguration(account, endpoint: firebase.endpoint) { [clock] in clock.date() }
        configuration.caFile = firebase.caFile
        configuration.expiryClock = { [clock] in clock.now() }
        return configuration
    }
}
