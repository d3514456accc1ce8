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
        let file = try source[\.vapidKeyFile]
        guard let subject = try source[\.vapidSubject] else {
            guard file == nil else {
                throw source.refusal(of: \.vapidKeyFile, "needs --vapid-subject, an address of yours")
            }
            return nil
        }
        guard file != nil || (isAlone && data != ":memory:") else {
            throw source.refusal(
                of: \.vapidSubject,
                "needs --vapid-key-file, because the key must outlive this server's data"
            )
        }
        return WebPush(
            subject: subject,
            keyFile: file ?? "\(data)/\(vapidKeyFile)",
            makesKey: !isNode,
            caFile: try source[\.webPushCAFile]
        )
    }
}
