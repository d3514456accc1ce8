import CallCore
import CallPorts
import CallTrace
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
    /// The addresses of the app's backend; `nil` = there are none.
    let backend: Backend?
    /// The names of the claims that the app's backend is told.
    let toldClaims: [String]
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
    private(set) var policy: Policy
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

    /// The settings for requests to the app's backend.
    struct Backend {
        let secretFile: String
        let caFile: String?
        /// Whether there are endpoints for events.
        let takesEvents: Bool
        /// The address that decides about calls; `nil` = nobody is asked.
        let decideURL: String?
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
        try source.refuseDoubleNames()
        listen = try source[\.listen]
        admin = try source[\.adminListen]
        data = try source[\.data]
        storePasswordFile = try source[\.storePasswordFile]
        store = try source.database()
        storeURL = source.texts(\.store).last
        guard store == nil || data != ":memory:" else {
            throw source.refusal(of: \.store, "cannot be used with --data :memory:, which keeps nothing")
        }
        operatorPages = try Self.operatorPages(source, admin: admin, data: data)
        leaseMilliseconds = try NodeSettings.lease(source, store: store)
        nodes = try NodeSettings(source, store: store, leaseMilliseconds: leaseMilliseconds)
        let rows = Setting.rows
        let listeners = [
            (rows.listen.setting, listen), (rows.adminListen.setting, admin),
            (rows.nodeListen.setting, nodes?.listen),
        ]
        try Self.checkPorts(listeners, source)
        shared = SharedSetting.all(source)
        waitsForData = try source[\.waitForData]
        jwtSecretFile = try source[\.jwtSecretFile]
        jwtPublicKeyFile = try source[\.jwtPublicKeyFile]
        jwksFile = try source[\.jwksFile]
        jwks = try PublishedKeys(source)
        jwtUserClaim = try source[\.jwtUserClaim]
        jwtIssuer = try source[\.jwtIssuer]
        jwtAudience = try source[\.jwtAudience]
        jwtRequireExpiry = try source[\.jwtRequireExpiry]
        apns = try Self.apns(source)
        firebase = try Self.firebase(source)
        webPush = try Self.webPush(source, data: data, isAlone: store == nil, isNode: nodes != nil)
        backend = try Self.backend(source)
        let claims = try source[\.decideClaims]
        toldClaims = backend?.decideURL == nil ? [] : claims
        turn = try Self.turn(source)
        tls = try Self.tls(source)
        allowedOrigins = Set(try source[\.allowOrigin])
        adminHosts = Set(try source[\.adminHost])
        keepAliveSeconds = try source[\.keepAlive]
        trustsUnverifiedSocketIOUsers = try source[\.socketioTrustRegister]
        maxConnections = try source[\.maxTCPConnections]
        trustedProxies = try source[\.trustedProxy]
        loops = try source[\.loops]
        logLevel = try source[\.logLevel]
        logsJSON = try source[\.logFormat]
        auditLog = try source[\.auditLog]
        warnings = source.warnings
        var policy = try Self.policy(source)
        // Another server may take the database over, and refuse what this one has decided.
        policy.withholdsDecisions = store != nil
        policy.marksLogs = nodes != nil
        policy.nodeAddress = nodes?.address.text
        self.policy = policy
        let pushes = PushSetup.all.filter { $0.isConfigured(self) }
        self.policy.pushKinds = Set(pushes.flatMap(\.service.kinds))
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

    /// Returns the folder with the operators' page, which needs the admin's address and calls that a search can read.
    private static func operatorPages(
        _ source: SettingsSource,
        admin: ListenAddress?,
        data: String
    ) throws(UsageError) -> String? {
        guard let folder = try source[\.operatorPages] else { return nil }
        guard admin != nil, data != ":memory:" else {
            let reason = admin == nil ? "--admin-listen none" : "--data :memory:, whose calls no search can read"
            throw source.refusal(of: \.operatorPages, "cannot be used with \(reason)")
        }
        return folder
    }

    /// Checks that no listener takes the port of another one.
    private static func checkPorts(
        _ listeners: [(setting: Setting, address: ListenAddress?)],
        _ source: SettingsSource
    ) throws(UsageError) {
        for (index, listener) in listeners.enumerated() {
            guard let address = listener.address else { continue }
            for earlier in listeners[..<index] where earlier.address?.overlaps(address) == true {
                let text = earlier.address.map { $0 == address ? "" : " \($0.text)" } ?? ""
                throw source.refusal(
                    of: listener.setting,
                    "\(address.text) is also the address of --\(earlier.setting.name)\(text)"
                )
            }
        }
    }

    private static func policy(_ source: SettingsSource) throws(UsageError) -> Policy {
        var policy = Policy()
        policy.ringTimeout = .milliseconds(try source[\.ringTimeout])
        policy.probeTimeout = .milliseconds(try source[\.probeTimeout])
        policy.grace = .milliseconds(try source[\.disconnectGrace])
        policy.whenBusy = try source[\.busyPolicy]
        policy.callerName = try source[\.callerName]
        policy.payloadAliases = try source[\.payloadAlias]
        policy.webPushHosts = try source[\.webPushHost]
        policy.connectsPerMinute = try source[\.connectsPerMinute]
        policy.storedBytesPerDay = try source[\.storedBytesPerDay]
        policy.ringsPerPair = try source[\.ringsPerPair]
        policy.ringsPerCallee = try source[\.ringsPerCallee]
        policy.directoryNumbers = try source[\.directoryNumbers]
        policy.apnsEnvironment = try source[\.apnsEnvironment]
        policy.iceServers = iceServers(try source[\.stunURL].map(\.text))
        policy.pushServices = PushService.all
        policy.events = try events(source)
        policy.decisions = try decisions(source)
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
        switch (try source[\.apnsKeyFile], try source[\.apnsKeyID], try source[\.apnsTeamID]) {
        case (nil, nil, nil): return nil
        case (let keyFile?, let keyID?, let teamID?):
            return APNs(
                keyFile: keyFile,
                keyID: keyID,
                teamID: teamID,
                sandbox: try source[\.apnsEndpointSandbox],
                production: try source[\.apnsEndpointProduction],
                caFile: try source[\.apnsCAFile]
            )
        default: throw UsageError("--apns-key-file, --apns-key-id and --apns-team-id must be given together")
        }
    }

    private static func firebase(_ source: SettingsSource) throws(UsageError) -> Firebase? {
        guard let file = try source[\.fcmServiceAccountFile] else { return nil }
        return Firebase(
            accountFile: file,
            endpoint: try source[\.fcmEndpoint],
            caFile: try source[\.fcmCAFile]
        )
    }

    private static func turn(_ source: SettingsSource) throws(UsageError) -> TURN? {
        let urls = try source[\.turnURL]
        // Rounded up: a credential with a lifetime of 0 s would be useless.
        let ttlSeconds = (try source[\.turnTTL] + 999) / 1_000
        switch (try source[\.turnSecretFile], urls.isEmpty) {
        case (nil, true): return nil
        case (let secretFile?, false):
            guard urls.contains(where: \.isRelay) else {
                throw source.refusal(of: \.turnURL, "one must be turn: or turns:")
            }
            return TURN(secretFile: secretFile, urls: urls.map(\.text), ttlSeconds: ttlSeconds)
        default: throw UsageError("--turn-secret-file and --turn-url must be given together")
        }
    }

    private static func tls(_ source: SettingsSource) throws(UsageError) -> ServerConfiguration.TLS? {
        switch (try source[\.tlsCert], try source[\.tlsKey]) {
        case (nil, nil): return nil
        case (let certificate?, let key?): return .init(certificatePath: certificate, keyPath: key)
        default: throw UsageError("--tls-cert and --tls-key must be given together")
        }
    }
}
