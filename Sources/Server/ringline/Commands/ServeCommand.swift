import ArgumentParser
import FoundationEssentials

/// The options of `ringline serve`, one for each setting.
///
/// `config`, `doctor` and `push-test` take them too.
struct ServeOptions: ParsableArguments {
    @Option(help: "A file of settings, one 'name = value' per line.") var config: String?

    @Option(help: Self.help("listen")) var listen: String?
    @Option(help: Self.help("admin-listen")) var adminListen: String?
    @Option(help: Self.help("operator-pages")) var operatorPages: String?
    @Option(help: Self.help("data")) var data: String?
    @Option(help: Self.help("store")) var store: String?
    @Option(help: Self.help("store-password-file")) var storePasswordFile: String?
    @Option(help: Self.help("wait-for-data")) var waitForData: String?
    @Option(help: Self.help("node-listen")) var nodeListen: String?
    @Option(help: Self.help("node-address")) var nodeAddress: String?
    @Option(help: Self.help("lease")) var lease: String?
    @Option(help: Self.help("jwt-secret-file")) var jwtSecretFile: String?
    @Option(help: Self.help("jwt-public-key-file")) var jwtPublicKeyFile: String?
    @Option(help: Self.help("jwks-file")) var jwksFile: String?
    @Option(help: Self.help("jwks-url")) var jwksUrl: String?
    @Option(help: Self.help("jwks-ca-file")) var jwksCaFile: String?
    @Option(help: Self.help("jwt-user-claim")) var jwtUserClaim: String?
    @Option(help: Self.help("jwt-issuer")) var jwtIssuer: String?
    @Option(help: Self.help("jwt-audience")) var jwtAudience: String?
    @Option(help: Self.help("jwt-require-expiry")) var jwtRequireExpiry: String?
    @Option(help: Self.help("apns-key-file")) var apnsKeyFile: String?
    @Option(help: Self.help("apns-key-id")) var apnsKeyId: String?
    @Option(help: Self.help("apns-team-id")) var apnsTeamId: String?
    @Option(help: Self.help("apns-environment")) var apnsEnvironment: String?
    @Option(help: Self.help("apns-endpoint-sandbox")) var apnsEndpointSandbox: String?
    @Option(help: Self.help("apns-endpoint-production")) var apnsEndpointProduction: String?
    @Option(help: Self.help("apns-ca-file")) var apnsCaFile: String?
    @Option(help: Self.help("fcm-service-account-file")) var fcmServiceAccountFile: String?
    @Option(help: Self.help("fcm-endpoint")) var fcmEndpoint: String?
    @Option(help: Self.help("fcm-ca-file")) var fcmCaFile: String?
    @Option(help: Self.help("vapid-subject")) var vapidSubject: String?
    @Option(help: Self.help("vapid-key-file")) var vapidKeyFile: String?
    @Option(parsing: .singleValue, help: Self.help("web-push-host")) var webPushHost: [String] = []
    @Option(help: Self.help("web-push-ca-file")) var webPushCaFile: String?
    @Option(help: Self.help("tls-cert")) var tlsCert: String?
    @Option(help: Self.help("tls-key")) var tlsKey: String?
    @Option(parsing: .singleValue, help: Self.help("allow-origin")) var allowOrigin: [String] = []
    @Option(parsing: .singleValue, help: Self.help("stun-url")) var stunUrl: [String] = []
    @Option(help: Self.help("turn-secret-file")) var turnSecretFile: String?
    @Option(parsing: .singleValue, help: Self.help("turn-url")) var turnUrl: [String] = []
    @Option(help: Self.help("turn-ttl")) var turnTtl: String?
    @Option(help: Self.help("ring-timeout")) var ringTimeout: String?
    @Option(help: Self.help("probe-timeout")) var probeTimeout: String?
    @Option(help: Self.help("disconnect-grace")) var disconnectGrace: String?
    @Option(help: Self.help("busy-policy")) var busyPolicy: String?
    @Option(help: Self.help("caller-name")) var callerName: String?
    @Option(parsing: .singleValue, help: Self.help("payload-alias")) var payloadAlias: [String] = []
    @Option(help: Self.help("socketio-trust-register")) var socketioTrustRegister: String?
    @Flag(help: "Short for --socketio-trust-register true.") var trustRegister = false
    @Option(help: Self.help("max-connections")) var maxConnections: String?
    @Option(parsing: .singleValue, help: Self.help("trusted-proxy")) var trustedProxy: [String] = []
    @Option(help: Self.help("keep-alive")) var keepAlive: String?
    @Option(parsing: .singleValue, help: Self.help("admin-host")) var adminHost: [String] = []
    @Option(help: Self.help("connects-per-minute")) var connectsPerMinute: String?
    @Option(help: Self.help("kept-bytes-per-day")) var keptBytesPerDay: String?
    @Option(help: Self.help("rings-per-pair")) var ringsPerPair: String?
    @Option(help: Self.help("rings-per-callee")) var ringsPerCallee: String?
    @Option(help: Self.help("directory-numbers")) var directoryNumbers: String?
    @Option(help: Self.help("loops")) var loops: String?
    @Option(help: Self.help("log-level")) var logLevel: String?
    @Option(help: Self.help("log-format")) var logFormat: String?
    @Option(help: Self.help("audit-log")) var auditLog: String?

    private static func help(_ name: String) -> ArgumentHelp {
        guard let setting = Setting.named(name) else { return ArgumentHelp("") }
        let fallback = setting.fallback.map { " (default: \($0))" } ?? ""
        return ArgumentHelp("\(setting.meaning)\(fallback)", valueName: setting.placeholder)
    }

    /// The flags given on the command line, by the name of their setting.
    var flags: [String: [String]] {
        let single: [String: String?] = [
            "listen": listen, "admin-listen": adminListen, "operator-pages": operatorPages,
            "data": data, "store": store,
            "store-password-file": storePasswordFile, "wait-for-data": waitForData,
            "node-listen": nodeListen, "node-address": nodeAddress, "lease": lease,
            "jwt-secret-file": jwtSecretFile,
            "jwt-public-key-file": jwtPublicKeyFile, "jwks-file": jwksFile, "jwks-url": jwksUrl,
            "jwks-ca-file": jwksCaFile,
            "jwt-user-claim": jwtUserClaim,
            "jwt-issuer": jwtIssuer, "jwt-audience": jwtAudience, "jwt-require-expiry": jwtRequireExpiry,
            "apns-key-file": apnsKeyFile, "apns-key-id": apnsKeyId, "apns-team-id": apnsTeamId,
            "apns-environment": apnsEnvironment, "apns-endpoint-sandbox": apnsEndpointSandbox,
            "apns-endpoint-production": apnsEndpointProduction, "apns-ca-file": apnsCaFile,
            "fcm-service-account-file": fcmServiceAccountFile, "fcm-endpoint": fcmEndpoint, "fcm-ca-file": fcmCaFile,
            "vapid-subject": vapidSubject, "vapid-key-file": vapidKeyFile, "web-push-ca-file": webPushCaFile,
            "tls-cert": tlsCert,
            "tls-key": tlsKey, "turn-secret-file": turnSecretFile, "turn-ttl": turnTtl, "ring-timeout": ringTimeout,
            "probe-timeout": probeTimeout,
            "disconnect-grace": disconnectGrace, "busy-policy": busyPolicy, "caller-name": callerName,
            "socketio-trust-register": socketioTrustRegister ?? (trustRegister ? "true" : nil),
            "max-connections": maxConnections, "connects-per-minute": connectsPerMinute,
            "kept-bytes-per-day": keptBytesPerDay, "rings-per-pair": ringsPerPair, "rings-per-callee": ringsPerCallee,
            "directory-numbers": directoryNumbers,
            "loops": loops,
            "log-level": logLevel, "log-format": logFormat, "audit-log": auditLog,
        ]
        var flags = single.compactMapValues { $0.map { [$0] } }
        flags["allow-origin"] = allowOrigin
        flags["payload-alias"] = payloadAlias
        flags["web-push-host"] = webPushHost
        flags["trusted-proxy"] = trustedProxy
        flags["keep-alive"] = keepAlive.map { [$0] }
        flags["admin-host"] = adminHost
        flags["stun-url"] = stunUrl
        flags["turn-url"] = turnUrl
        return flags
    }

    /// Returns the sources of the settings; the configuration file is read here.
    func source() throws(UsageError) -> SettingsSource { try Self.source(flags, config) }

    /// A function that reads the settings again at each call, because the file may have changed.
    var reading: @Sendable () throws(UsageError) -> ServeSettings {
        { [flags, config] () throws(UsageError) in try ServeSettings(try Self.source(flags, config)) }
    }

    /// Whether an error of `serve` is a line of JSON; `false` if the setting itself is wrong.
    var logsJSON: Bool { Self.logsJSON(flags, config) }

    /// Whether an error in a command line that cannot be parsed is a line of JSON: it is one of `serve` that asks for it.
    static func logsJSON(_ arguments: [String]) -> Bool {
        guard arguments.first == "serve" else { return false }
        func value(of option: String) -> String? {
            let place = arguments.lastIndex { $0 == option || $0.hasPrefix("\(option)=") }
            guard let place else { return nil }
            let joined = arguments[place].dropFirst(option.count + 1)
            return joined.isEmpty ? arguments.dropFirst(place + 1).first : String(joined)
        }
        return logsJSON(["log-format": [value(of: "--log-format")].compactMap { $0 }], value(of: "--config"))
    }

    private static func logsJSON(_ flags: [String: [String]], _ config: String?) -> Bool {
        let environment = ProcessInfo.processInfo.environment
        // A file that cannot be read is the error itself. The options and the environment say enough.
        let source = (try? source(flags, config)) ?? SettingsSource(flags: flags, environment: environment)
        // Only an unknown setting throws, and this one is known.
        return (try? source.value("log-format")) == "json"
    }

    private static func source(_ flags: [String: [String]], _ config: String?) throws(UsageError) -> SettingsSource {
        let environment = ProcessInfo.processInfo.environment
        let path = config ?? environment["RINGLINE_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        let file = try path.map { path throws(UsageError) in try ConfigurationFile.read(path) } ?? [:]
        return SettingsSource(flags: flags, environment: environment, file: file)
    }
}

/// Runs the server.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the server.",
        discussion: """
            Without options for keys, tokens are checked with a development key, which is created in the data folder; \
            'ringline token' signs with it.

            Signals: SIGTERM and SIGINT shut it down cleanly. SIGHUP reloads the certificate and its key, which also \
            happens when the files change, reloads the other keys, and reopens the audit log. SIGUSR1 logs more (info, then debug, then trace), SIGUSR2 less.

            Example:
              ringline serve --listen 0.0.0.0:8443 --data /var/lib/ringline \\
                  --tls-cert cert.pem --tls-key key.pem
            """
    )

    @OptionGroup var options: ServeOptions

    func run() throws {
        do throws(UsageError) {
            let read = options.reading
            try ServerApplication(try read(), reread: read).run()
        } catch { throw error.shown(asJSON: options.logsJSON) }
    }
}
