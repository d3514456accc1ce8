import CallPorts
import LibWebSockets
import Switchboard

/// All settings of `ringline serve`, in the order of `--help`.
///
/// A setting is declared here, and used where ``ServeSettings`` reads its row. Everything else comes from the rows:
/// options, variables, keys of the file, `--help`, the table of the page Settings, and what nodes compare.
struct SettingTable: Sendable {
    let listen = Row("listen", .listener, fallback: "127.0.0.1:8080", scope: .own) {
        "Where clients connect; port 0 takes any free one."
    }
    let adminListen = Row("admin-listen", .listenerOrNone, fallback: "127.0.0.1:9090", scope: .own) {
        "Where /healthz, /readyz and /metrics are served; 'none' = nowhere. Keep it private."
    }
    let operatorPages = Row("operator-pages", .text("DIR"), scope: .own) {
        "The folder with the operators' page, which --admin-listen then serves; its searches need a service's token."
    }
    let data = Row("data", .folder, fallback: "./data", scope: .own) {
        "The folder for calls, devices and generated keys; :memory: keeps nothing."
    }
    let store = Row("store", .database, scope: .own, secrecy: .password) {
        "The PostgreSQL database for calls and devices, postgres://user@host/database; by default they are in the data folder."
    }
    let storePasswordFile = Row("store-password-file", .file, scope: .own, secrecy: .file) {
        "The password of the user in --store; one newline at the end is stripped."
    }
    let waitForData = Row("wait-for-data", .seconds(atMost: 86_400, orZero: true), fallback: "15", scope: .own) {
        "How long to wait for a data folder or a database that another ringline still uses, as in a rolling restart; 0 = do not wait."
    }
    let nodeListen = Row("node-listen", .ifGiven(.nodeListener), scope: .own) {
        "Where this server accepts links of others on the same --store, as one node of several. Links are not encrypted: keep it private."
    }
    let nodeAddress = Row("node-address", .ifGiven(.nodeAddress), scope: .own) {
        "Where the other nodes reach this one; default: --node-listen, with the machine's host name for 0.0.0.0 and [::]."
    }
    let lease = Row("lease", .seconds(from: 1, to: 60), fallback: "3") {
        "How long a server that cannot be reached keeps the database of --store before another one may claim it, 1 to 60."
    }
    let jwtSecretFile = Row("jwt-secret-file", .file, scope: .sharedFile, secrecy: .file) {
        "The HS256 secret; all bytes count, except one newline at the end."
    }
    let jwtPublicKeyFile = Row("jwt-public-key-file", .file, scope: .sharedFile) {
        "A public key in PEM: RSA for RS256, P-256 for ES256."
    }
    let jwksFile = Row("jwks-file", .file, scope: .sharedFile) { "A JSON Web Key Set; a token's kid selects the key." }
    let jwksURL = Row("jwks-url", .ifGiven(.keySetURL)) {
        "The HTTPS address where your issuer publishes its JSON Web Key Set; fetched again when it may have changed."
    }
    let jwksCAFile = Row("jwks-ca-file", .file, scope: .own) {
        "Certificate authorities to trust for --jwks-url instead of the system's."
    }
    let jwtUserClaim = Row("jwt-user-claim", .text("NAME")) { "The claim that names the user; default: sub, else uid." }
    let jwtIssuer = Row("jwt-issuer", .text("TEXT")) { "The required value of iss." }
    let jwtAudience = Row("jwt-audience", .text("TEXT")) { "The required value of aud, or of one of its elements." }
    let jwtRequireExpiry = Row("jwt-require-expiry", .truth, fallback: "true") { "Whether a token must have exp." }
    let apnsKeyFile = Row("apns-key-file", .file, scope: .sharedFile, secrecy: .file) {
        "Apple's .p8 key; without it pushes are only logged."
    }
    let apnsKeyID = Row("apns-key-id", .text("ID")) { "The key's id, 10 characters." }
    let apnsTeamID = Row("apns-team-id", .text("ID")) { "The developer team's id, 10 characters." }
    let apnsEnvironment = Row(
        "apns-environment",
        .choice(["auto": nil, "sandbox": APNsEnvironment.sandbox, "production": .production]),
        fallback: "auto"
    ) {
        "Which of Apple's services is asked first; auto finds out for each device."
    }
    let apnsEndpointSandbox = Row("apns-endpoint-sandbox", .url, fallback: "https://api.sandbox.push.apple.com") {
        "Another sandbox endpoint, for tests."
    }
    let apnsEndpointProduction = Row("apns-endpoint-production", .url, fallback: "https://api.push.apple.com") {
        "Another production endpoint, for tests."
    }
    let apnsCAFile = Row("apns-ca-file", .file, scope: .own) {
        "Certificate authorities to trust for APNs instead of the system's."
    }
    let fcmServiceAccountFile = Row("fcm-service-account-file", .file, scope: .sharedFile, secrecy: .file) {
        "Firebase's service account (JSON); without it pushes to Android devices are only logged."
    }
    let fcmEndpoint = Row("fcm-endpoint", .secureOrigin, fallback: "https://fcm.googleapis.com") {
        "Another Firebase endpoint, for tests."
    }
    let fcmCAFile = Row("fcm-ca-file", .file, scope: .own) {
        "Certificate authorities to trust for Firebase instead of the system's."
    }
    let vapidSubject = Row("vapid-subject", .ifGiven(.subject)) {
        "Where push services reach you, mailto:name@example.com or an https address; without it pushes to browsers are only logged."
    }
    let vapidKeyFile = Row("vapid-key-file", .file, scope: .sharedFile, secrecy: .file) {
        "The key by which push services know this server (PEM, P-256), made if it is missing; default: vapid-key.pem in the data folder."
    }
    let webPushHost = Row("web-push-host", .webPushHosts) {
        "A host besides the known push services to which browsers may subscribe: a name, *.domain, or host:port, which alone may have a private address."
    }
    let webPushCAFile = Row("web-push-ca-file", .file, scope: .own) {
        "Certificate authorities to trust for Web Push instead of the system's."
    }
    let eventsURL = Row("events-url", .eventEndpoints) {
        "Where events are posted to your backend, up to 4 times; https, or http to this machine and private networks."
    }
    let eventsSecretFile = Row("events-secret-file", .file, scope: .sharedFile, secrecy: .file) {
        "The secret that signs events and questions about calls, as 'ringline events secret' prints it; a second line also signs, while it is replaced."
    }
    let eventsTypes = Row("events-types", .eventTypes, fallback: "*") {
        "The types of the events, separated by commas, as in call.*,device.removed."
    }
    let eventsKept = Row("events-kept", .count(from: 1, to: 90, of: "days"), fallback: "7") {
        "How many days events are kept, for resending them and for the feed, 1 to 90."
    }
    let eventsKeptBytes = Row("events-kept-bytes", .bytes, fallback: "4294967296") {
        "How many bytes of events are kept; above that the oldest are deleted, delivered ones first."
    }
    let eventsFeed = Row("events-feed", .truth, fallback: "false") {
        "Whether there are events without an endpoint, for readers of the feed."
    }
    let eventsCAFile = Row("events-ca-file", .file, scope: .own) {
        "Certificate authorities to trust for --events-url and --decide-url instead of the system's."
    }
    let decideURL = Row("decide-url", .ifGiven(.backendURL)) {
        "Where your backend is asked about each new call before anything rings; https, or http to this machine and private networks."
    }
    let decideTimeout = Row("decide-timeout", .seconds(from: 0.1, to: 10), fallback: "1") {
        "How long your backend has to decide, 0.1 to 10."
    }
    let decideFailure = Row(
        "decide-failure",
        .choice(["allow": DecisionPolicy.Failure.allow, "refuse": .refuse]),
        fallback: "allow"
    ) {
        "What becomes of a call without a usable decision: allow = it rings, refuse = the caller gets 503."
    }
    let decideClaims = Row("decide-claims", .claimNames) {
        "The claims of the caller's token that your backend is told, up to 16, separated by commas, as in role,tenant."
    }
    let tlsCert = Row("tls-cert", .file, scope: .own) {
        "The certificate chain in PEM; with it the server speaks TLS 1.2 or later."
    }
    let tlsKey = Row("tls-key", .file, scope: .own, secrecy: .file) { "The certificate's private key in PEM." }
    let allowOrigin = Row("allow-origin", .origins) {
        "An Origin from which browsers may connect, in addition to the server's own; * = any."
    }
    let stunURL = Row("stun-url", .iceServers(relays: false)) {
        "A STUN server to tell clients about, such as stun:host:port."
    }
    let turnSecretFile = Row("turn-secret-file", .file, scope: .sharedFile, secrecy: .file) {
        "coturn's static-auth-secret: clients get time-limited credentials for the --turn-url servers."
    }
    let turnURL = Row("turn-url", .iceServers(relays: true)) {
        "A TURN server to tell clients about, such as turn:host:port?transport=udp or turns:host:port."
    }
    let turnTTL = Row("turn-ttl", .seconds(atMost: 31_536_000), fallback: "86400") {
        "How long a TURN credential is valid, at most a year."
    }
    let ringTimeout = Row("ring-timeout", .seconds(atMost: 3_600), fallback: "45") {
        "How long a callee is rung if the offer does not say, at most 3600."
    }
    let probeTimeout = Row("probe-timeout", .seconds(atMost: 600), fallback: "2") {
        "How long a connection may take to answer the ping of an offer before its device is pushed, at most 600."
    }
    let disconnectGrace = Row("disconnect-grace", .seconds(atMost: 3_600), fallback: "30") {
        "How long a side may be gone before an answered call ends, at most 3600."
    }
    let busyPolicy = Row(
        "busy-policy",
        .choice(["waiting": Policy.BusyPolicy.waiting, "busy": .busy]),
        fallback: "waiting"
    ) {
        "What a second caller gets while the callee is in a call: waiting = the call rings, busy = it ends with busy."
    }
    let callerName = Row(
        "caller-name",
        .choice(["token": Policy.CallerName.token, "any": .any, "decision": .decision]),
        fallback: "any"
    ) {
        "Where a caller's displayed name comes from: token = only from the token, any = the offer may set it too, decision = only from your backend (--decide-url)."
    }
    let payloadAlias = Row("payload-alias", .payloadAliases) {
        "A key for the pushes of calls to an app, with the value of one of their members: com.example.app:UUID=callUUID."
    }
    let socketioTrustRegister = Row("socketio-trust-register", .truth, fallback: "false", flag: "trust-register") {
        "Whether to trust the user that a Socket.IO client without a token registers as; only for private networks."
    }
    let maxTCPConnections = Row(
        "max-tcp-connections",
        .ifGiven(.count(from: 1)),
        scope: .own,
        formerName: "max-connections"
    ) {
        "The most sockets open at a time; default: as many as the descriptor limit allows."
    }
    let trustedProxy = Row("trusted-proxy", .proxies, scope: .own) {
        "The address of a proxy, or a block of addresses, whose X-Forwarded-For is trusted."
    }
    let keepAlive = Row(
        "keep-alive",
        .count(from: 1, to: 3_600, of: "seconds"),
        fallback: "75",
        scope: .own,
        isListedLast: true
    ) {
        "How long an idle HTTP connection is kept open, 1 to 3600; longer than a load balancer in front keeps its own."
    }
    let adminHost = Row("admin-host", .hostNames, scope: .own, isListedLast: true) {
        "A name by which --admin-listen may be addressed, besides addresses, localhost, names without a dot and names of services in Kubernetes."
    }
    let connectsPerMinute = Row("connects-per-minute", .count(from: 1), fallback: "60") {
        "How many connects a minute a user may make, on average and in a burst; more are answered with 429."
    }
    let storedBytesPerDay = Row(
        "stored-bytes-per-day",
        .bytes,
        fallback: "268435456",
        formerName: "kept-bytes-per-day"
    ) {
        "How many bytes of logs and timelines are stored per user and day; above that users only take and end calls."
    }
    let ringsPerPair = Row("rings-per-pair", .count(from: 0), fallback: "6") {
        "How many times a minute one caller may ring one callee; more are answered with 429. 0 = no limit."
    }
    let ringsPerCallee = Row("rings-per-callee", .count(from: 0), fallback: "30") {
        "How many times a minute all callers together may ring one callee; more are answered with 429. 0 = no limit."
    }
    let directoryNumbers = Row("directory-numbers", .count(from: 0), fallback: "2000000") {
        "How many numbers with a name for all users the call directory may have; more are answered with 413."
    }
    let loops = Row("loops", .count(from: 1, to: Server.maximumLoops), fallback: "1", scope: .own) {
        "The number of event loops that share the connections, 1 to 16; with more, TLS and framing use more cores."
    }
    let logLevel = Row(
        "log-level",
        .word("LEVEL", of: ["trace", "debug", "info", "notice", "warning", "error", "critical"]),
        fallback: "info",
        scope: .own
    ) {
        "The lowest level to log: trace, debug, info, notice, warning, error or critical."
    }
    let logFormat = Row("log-format", .choice(["text": false, "json": true]), fallback: "text", scope: .own) {
        "The format of log lines; they go to stderr."
    }
    let auditLog = Row("audit-log", .file, scope: .own) {
        "The audit log of refused tokens, blocks, revocations and operators' commands, one JSON line each; - = stdout."
    }
}
