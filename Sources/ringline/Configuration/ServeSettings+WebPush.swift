import CallPorts
import WebPush

extension ServeSettings {
    /// The name of the VAPID key's file in the data folder.
    static let vapidKeyFile = "vapid-key.pem"

    /// Returns the settings for Web Push; `nil` = it is off.
    ///
    /// `isAlone`: Whether no other server shares the calls. Several servers need the same key, which none of them can
    /// make.
    static func webPush(_ source: SettingsSource, data: String, isAlone: Bool) throws(UsageError) -> WebPush? {
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
