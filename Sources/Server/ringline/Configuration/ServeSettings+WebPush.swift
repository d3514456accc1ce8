import CallPorts
import Pushes

extension ServeSettings {
    /// The name of the VAPID key's file in the data folder.
    static let vapidKeyFile = "vapid-key.pem"

    /// Reads the settings for Web Push.
    ///
    /// - Parameters:
    ///   - source: the settings.
    ///   - data: the data folder.
    ///   - isAlone: whether the calls are in the data folder, and the key may be there too.
    ///   - isNode: whether the server is one of several, which need the same key: none of them makes it.
    /// - Returns: the settings; `nil` = Web Push is off.
    /// - Throws: `UsageError` with the name of the setting.
    static func webPush(
        _ source: SettingsSource,
        data: String,
        isAlone: Bool,
        isNode: Bool
    ) throws(UsageError) -> WebPush? {
        let file = try source.value("vapid-key-file")
        guard let subject = try source.value("vapid-subject") else {
            guard file == nil else {
                throw UsageError("\(source.origin(of: "vapid-key-file")): needs --vapid-subject, an address of yours")
            }
            return nil
        }
        guard WebPushConfiguration.isSubject(subject) else {
            throw UsageError(
                "\(source.origin(of: "vapid-subject")): \(WebPushConfigurationError.malformedSubject)"
            )
        }
        guard file != nil || (isAlone && data != ":memory:") else {
            throw UsageError(
                "\(source.origin(of: "vapid-subject")): needs --vapid-key-file, because the key must outlive this server's data"
            )
        }
        return WebPush(
            subject: subject,
            keyFile: file ?? "\(data)/\(vapidKeyFile)",
            makesKey: !isNode,
            caFile: try source.value("web-push-ca-file")
        )
    }

    /// Returns the hosts to which Web Push messages may be sent.
    static func webPushHosts(_ source: SettingsSource) throws(UsageError) -> WebPushHosts {
        var hosts = WebPushHosts()
        for text in try source.values("web-push-host") where !hosts.add(text) {
            throw UsageError(
                "\(source.origin(of: "web-push-host")): must be a host name, *.domain or host:port, not '\(text)'"
            )
        }
        return hosts
    }
}
