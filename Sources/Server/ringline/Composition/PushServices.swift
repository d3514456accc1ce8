import CallPorts
import FoundationEssentials
import Gateway
import OutboundHTTP
import Pushes
import ServerLog
import Switchboard
import Threads

/// Hands each push to the service that its route leads through; a service that is not configured only logs.
final class PushServices: PushSender {
    private let apns: APNsSender?
    private let firebase: FirebaseSender?
    private let web: WebPushSender?
    private let logging: LoggingPushSender

    /// Creates the senders of the services that are configured.
    ///
    /// `onlyValidatesMessages`: Whether Firebase only checks messages. `report`: Called exactly once for each push, as
    /// the senders say.
    init(
        _ application: ServerApplication,
        _ log: ServerLog,
        onlyValidatesMessages: Bool = false,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) throws(UsageError) {
        logging = LoggingPushSender(log: log, report: report)
        do {
            apns = try application.apnsConfiguration().map { try APNsSender($0, log: log, report: report) }
            firebase = try application.firebaseConfiguration().map { configuration in
                var configuration = configuration
                configuration.onlyValidates = onlyValidatesMessages
                return try FirebaseSender(configuration, log: log, report: report)
            }
            web = try application.webPushConfiguration().map { try WebPushSender($0, log: log, report: report) }
        } catch let error as UsageError { throw error } catch { throw UsageError("\(error)") }
    }

    func send(_ push: OutgoingPush) {
        let sender: any PushSender =
            switch push.route {
            case .apns: apns ?? logging
            case .firebase: firebase ?? logging
            case .web: web ?? logging
            }
        sender.send(push)
    }

    /// Asks every service: a service ignores the number of a push that it does not have.
    func cancel(_ id: PushID) {
        apns?.cancel(id)
        firebase?.cancel(id)
        web?.cancel(id)
    }

    /// Closes the connections of all services; each has this long for the pushes that are under way.
    func shutdown(limitMilliseconds limit: Int64) {
        apns?.shutdown(limitMilliseconds: limit)
        firebase?.shutdown(limitMilliseconds: limit)
        web?.shutdown(limitMilliseconds: limit)
    }

    /// The figures of each service; `nil` = it is not configured.
    var figures: [(service: String, figures: HTTPClientFigures?)] {
        [("apns", apns?.figures), ("firebase", firebase?.figures), ("web", web?.figures)]
    }

    /// For each service that is configured, a function that runs a closure on the thread of its client.
    var loopPosts: [LoopWatch.Post] {
        var posts: [LoopWatch.Post] = []
        if let apns { posts.append { apns.onLoop($0) } }
        if let firebase { posts.append { firebase.onLoop($0) } }
        if let web { posts.append { web.onLoop($0) } }
        return posts
    }

    /// Whether there is a sender to APNs.
    var hasAPNs: Bool { apns != nil }
    /// Whether there is a sender to Firebase.
    var hasFirebase: Bool { firebase != nil }

    /// Signs with the APNs key of these settings from now on.
    func useAPNsKey(of application: ServerApplication) throws(UsageError) {
        if let configuration = try application.apnsConfiguration() { apns?.use(configuration) }
    }

    /// Sends Firebase messages in the name of the service account of these settings from now on.
    func useServiceAccount(of application: ServerApplication) throws(UsageError) {
        if let configuration = try application.firebaseConfiguration() { firebase?.use(configuration) }
    }
}

extension OutboundFigures {
    /// Returns the figures of all services, for the metrics; a service that is not configured has no requests.
    static func all(_ push: PushServices?, _ keySet: KeySetFetcher?) -> [OutboundFigures] {
        let services = (push?.figures ?? []) + [("jwks", keySet?.clientFigures)]
        return services.map { service, figures in
            OutboundFigures(
                service: service,
                requests: [
                    ("connecting", figures?.connecting ?? 0), ("resolving", figures?.resolving ?? 0),
                    ("sent", figures?.sent ?? 0), ("waiting", figures?.waiting ?? 0),
                ],
                restingHosts: figures?.restingHosts ?? 0
            )
        }
    }
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
