import CallCore
import CallPorts
import CallWire
import Gateway
import JSON
import LibWebSockets
import OutboundHTTP
import Postgres
import Switchboard

/// The settings of `ringline serve`, read and checked.
struct ServeSettings {
    let listen: ListenAddress
    let admin: ListenAddress?
    /// The folder with the operators' page; `nil` = the page is not served.
    let operatorPages: String?
    let data: String
    /// The PostgreSQL database; `nil` = the SQLite database in the data folder.
    let store: ConnectionSettings?
    /// The text of ``store``, which has no password.
    let storeURL: String?
    /// The file with the password for the PostgreSQL database.
    let storePasswordFile: String?
    /// How long the lease on the PostgreSQL database lasts after the owner's last commit, in milliseconds.
    let leaseMilliseconds: Int64
    /// The settings of one node of several; `nil` = this server owns its store alone.
    let nodes: NodeSettings?
    /// The settings that must be the same on all nodes.
    let shared: [SharedSetting]
    /// The longest wait for another server to release the data folder or the database, in milliseconds.
    let waitsForData: Int64
    let jwtSecretFile: String?
    let jwtPublicKeyFile: String?
    let jwksFile: String?
    let jwks: PublishedKeys?
    let jwtUserClaim: String?
    let jwtIssuer: String?
    let jwtAudience: String?
    let jwtRequireExpiry: Bool
    let apns: APNs?
    let firebase: Firebase?
    let webPush: WebPush?
    let turn: TURN?
    let tls: ServerConfiguration.TLS?
    /// The origins of the setting `allow-origin`, as browsers send them.
    let allowedOrigins: Set<String>
    let adminHosts: Set<String>
    let keepAliveSeconds: Int
    let trustsUnverifiedSocketIOUsers: Bool
    let maxConnections: Int?
    let trustedProxies: [AddressRange]
    let loops: Int
    let policy: Policy
    let logLevel: String
    let logsJSON: Bool
    /// The file of the audit log; `-` = stdout, `nil` = no audit log.
    let auditLog: String?
    /// Warnings for the operator that do not prevent the start.
    let warnings: [String]

    /// The settings for sending pushes.
    struct APNs {
        let keyFile: String
        let keyID: String
        let teamID: String
        let sandbox: String
        let production: String
        let caFile: String?
    }

    /// The settings for sending Firebase messages.
    struct Firebase {
        let accountFile: String
        let endpoint: String
        let caFile: String?
    }

    /// The settings for sending Web Push messages.
    struct WebPush {
        let subject: String
        let keyFile: String
        /// Whether the server makes the key's file if it is missing.
        let makesKey: Bool
        let caFile: String?
    }

    /// The TURN servers, and the settings for making credentials for them.
    struct TURN: Equatable {
        let secretFile: String
        let urls: [String]
        let ttlSeconds: Int64
    }

    /// Whether the data is kept in memory only.
    var isInMemory: Bool { data == ":memory:" }

    init(_ source: SettingsSource) throws(UsageError) {
        listen = try source.address("listen")
        admin = try source.value("admin-listen") == "none" ? nil : source.address("admin-listen")
        data = try source.value("data") ?? "./data"
        guard !data.isEmpty else { throw UsageError("\(source.origin(of: "data")): must name a folder") }
        storePasswordFile = try source.value("store-password-file")
        store = try source.database()
        storeURL = store == nil ? nil : try source.value("store")
        guard store == nil || data != ":memory:" else {
            throw UsageError("\(source.origin(of: "store")): cannot be used with --data :memory:, which keeps nothing")
        }
        operatorPages = try source.value("operator-pages")
        if operatorPages != nil, admin == nil || data == ":memory:" {
            let reason = admin == nil ? "--admin-listen none" : "--data :memory:, whose calls no search can read"
            throw UsageError("\(source.origin(of: "operator-pages")): cannot be used with \(reason)")
        }
        leaseMilliseconds = try NodeSettings.lease(source, store: store)
        nodes = try NodeSettings(source, store: store, leaseMilliseconds: leaseMilliseconds)
        try Self.checkPorts([("listen", listen), ("admin-listen", admin), ("node-listen", nodes?.listen)], source)
        shared = try SharedSetting.all(source)
        waitsForData =
            try source.value("wait-for-data") == "0" ? 0 : source.milliseconds("wait-for-data", atMost: 86_400)
        jwtSecretFile = try source.value("jwt-secret-file")
        jwtPublicKeyFile = try source.value("jwt-public-key-file")
        jwksFile = try source.value("jwks-file")
        jwks = try PublishedKeys(source)
        jwtUserClaim = try source.value("jwt-user-claim")
        jwtIssuer = try source.value("jwt-issuer")
        jwtAudience = try source.value("jwt-audience")
        jwtRequireExpiry = try source.flag("jwt-require-expiry")
        apns = try Self.apns(source)
        firebase = try Self.firebase(source)
        webPush = try Self.webPush(source, data: data, isAlone: store == nil, isNode: nodes != nil)
        turn = try Self.turn(source)
        tls = try Self.tls(source)
        allowedOrigins = try source.origins()
        adminHosts = try source.adminHosts()
        keepAliveSeconds = try source.keepAliveSeconds()
        trustsUnverifiedSocketIOUsers = try source.flag("socketio-trust-register")
        maxConnections = try Self.count("max-connections", source)
        trustedProxies = try Self.proxies(source)
        loops = try Self.loops(source)
        logLevel = try source.choice(
            "log-level",
            of: ["trace", "debug", "info", "notice", "warning", "error", "critical"]
        )
        logsJSON = try source.choice("log-format", of: ["text", "json"]) == "json"
        auditLog = try source.value("audit-log")
        warnings = source.unknownVariables()
        var policy = try Self.policy(source)
        // Another server may take the database over, and refuse what this one has decided.
        policy.withholdsDecisions = store != nil
        policy.marksLogs = nodes != nil
        policy.nodeAddress = nodes?.address.text
        policy.hasFirebase = firebase != nil
        self.policy = policy
    }

    /// Returns a listener's option with its address, for an error message.
    func address(_ host: String, _ port: Int) -> String {
        let address = ListenAddress(host: host, port: port)
        switch address {
        case admin: return "--admin-listen \(address.text)"
        case nodes?.listen: return "--node-listen \(address.text)"
        default: return "--listen \(address.text)"
        }
    }

    /// Checks that no listener takes the port of another one.
    private static func checkPorts(
        _ listeners: [(name: String, address: ListenAddress?)],
        _ source: SettingsSource
    ) throws(UsageError) {
        for (index, listener) in listeners.enumerated() {
            guard let address = listener.address else { continue }
            for earlier in listeners[..<index] where earlier.address?.overlaps(address) == true {
                let text = earlier.address.map { $0 == address ? "" : " \($0.text)" } ?? ""
                throw UsageError(
                    "\(source.origin(of: listener.name)): \(address.text) is also the address of --\(earlier.name)\(text)"
                )
            }
        }
    }

    private static func policy(_ source: SettingsSource) throws(UsageError) -> Policy {
        var policy = Policy()
        let timeZones = TimeZoneFiles()
        policy.timeZoneRules = { timeZones.rules(named: $0) }
        policy.ringTimeout = .milliseconds(try source.milliseconds("ring-timeout", atMost: 3_600))
        policy.probeTimeout = .milliseconds(try source.milliseconds("probe-timeout", atMost: 600))
        policy.grace = .milliseconds(try source.milliseconds("disconnect-grace", atMost: 3_600))
        policy.whenBusy = try source.choice("busy-policy", of: ["waiting", "busy"]) == "busy" ? .busy : .waiting
        policy.callerName = try source.choice("caller-name", of: ["token", "any"]) == "token" ? .token : .any
        policy.payloadAliases = try payloadAliases(source)
        policy.webPushHosts = try webPushHosts(source)
        policy.connectsPerMinute = try count("connects-per-minute", source) ?? policy.connectsPerMinute
        policy.storedBytesPerDay = try count("kept-bytes-per-day", source) ?? policy.storedBytesPerDay
        policy.ringsPerPair = try count("rings-per-pair", from: 0, source) ?? policy.ringsPerPair
        policy.ringsPerCallee = try count("rings-per-callee", from: 0, source) ?? policy.ringsPerCallee
        policy.directoryNumbers = try count("directory-numbers", from: 0, source) ?? policy.directoryNumbers
        policy.apnsEnvironment = APNsEnvironment(
            rawValue: try source.choice("apns-environment", of: ["auto", "sandbox", "production"])
        )
        policy.iceServers = iceServers(try source.iceServers("stun-url", relays: false).map(\.text))
        return policy
    }

    private static func iceServers(_ urls: [String]) -> [UInt8] {
        var json = JSONWriter()
        json.beginArray()
        if !urls.isEmpty {
            json.beginObject()
            json.name("urls")
            json.beginArray()
            for url in urls { json.value(url) }
            json.endArray()
            json.endObject()
        }
        json.endArray()
        return json.bytes
    }

    private static func apns(_ source: SettingsSource) throws(UsageError) -> APNs? {
        let parts = (
            try source.value("apns-key-file"), try source.value("apns-key-id"), try source.value("apns-team-id")
        )
        switch parts {
        case (nil, nil, nil): return nil
        case (let keyFile?, let keyID?, let teamID?):
            return APNs(
                keyFile: keyFile,
                keyID: keyID,
                teamID: teamID,
                sandbox: try source.value("apns-endpoint-sandbox") ?? "",
                production: try source.value("apns-endpoint-production") ?? "",
                caFile: try source.value("apns-ca-file")
            )
        default: throw UsageError("--apns-key-file, --apns-key-id and --apns-team-id must be given together")
        }
    }

    private static func firebase(_ source: SettingsSource) throws(UsageError) -> Firebase? {
        guard let file = try source.value("fcm-service-account-file") else { return nil }
        let endpoint = try source.value("fcm-endpoint") ?? ""
        guard HTTPRequest.isSecureOrigin(endpoint) else {
            throw UsageError("\(source.origin(of: "fcm-endpoint")): must be https://host or https://host:port")
        }
        return Firebase(accountFile: file, endpoint: endpoint, caFile: try source.value("fcm-ca-file"))
    }

    private static func turn(_ source: SettingsSource) throws(UsageError) -> TURN? {
        let urls = try source.iceServers("turn-url", relays: true)
        // Rounded up: a credential with a lifetime of 0 s would be useless.
        let ttlSeconds = (try source.milliseconds("turn-ttl", atMost: 31_536_000) + 999) / 1_000
        switch (try source.value("turn-secret-file"), urls.isEmpty) {
        case (nil, true): return nil
        case (let secretFile?, false):
            guard urls.contains(where: \.isRelay) else {
                throw UsageError("\(source.origin(of: "turn-url")): one must be turn: or turns:")
            }
            return TURN(secretFile: secretFile, urls: urls.map(\.text), ttlSeconds: ttlSeconds)
        default: throw UsageError("--turn-secret-file and --turn-url must be given together")
        }
    }

    private static func tls(_ source: SettingsSource) throws(UsageError) -> ServerConfiguration.TLS? {
        switch (try source.value("tls-cert"), try source.value("tls-key")) {
        case (nil, nil): return nil
        case (let certificate?, let key?): return .init(certificatePath: certificate, keyPath: key)
        default: throw UsageError("--tls-cert and --tls-key must be given together")
        }
    }

    private static func proxies(_ source: SettingsSource) throws(UsageError) -> [AddressRange] {
        var ranges: [AddressRange] = []
        for text in try source.values("trusted-proxy") {
            guard let range = AddressRange(text) else {
                let wanted = "an address or a block such as 10.0.0.0/8"
                throw UsageError("\(source.origin(of: "trusted-proxy")): must be \(wanted), not '\(text)'")
            }
            ranges.append(range)
        }
        return ranges
    }

    private static func loops(_ source: SettingsSource) throws(UsageError) -> Int {
        let text = try source.value("loops") ?? ""
        guard let count = Int(text), (1...Server.maximumLoops).contains(count) else {
            throw UsageError(
                "\(source.origin(of: "loops")): must be a whole number from 1 to \(Server.maximumLoops), not '\(text)'"
            )
        }
        return count
    }

    private static func count(_ name: String, from least: Int = 1, _ source: SettingsSource) throws(UsageError) -> Int?
    {
        guard let text = try source.value(name) else { return nil }
        guard let count = Int(text), count >= least else {
            throw UsageError("\(source.origin(of: name)): must be a whole number from \(least), not '\(text)'")
        }
        return count
    }
}
