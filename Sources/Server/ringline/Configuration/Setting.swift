/// One setting of the server: its name, its meaning and its default.
///
/// The table ``all`` is the only list of settings: names, defaults, `--help` and the documentation come from it.
struct Setting: Sendable {
    /// The name as a flag and in the file: `listen`.
    let name: String
    /// The placeholder for the value in the help: `HOST:PORT`.
    let placeholder: String
    /// The default value; `nil` = no default.
    let fallback: String?
    /// The meaning, in one sentence.
    let meaning: String
    /// Whether the setting may be given more than once.
    ///
    /// In the environment and the file, its values are separated by commas.
    var isRepeatable = false
    /// Whether the setting's value is the path of a file that holds a secret.
    var holdsSecret: Bool {
        [
            "jwt-secret-file", "apns-key-file", "fcm-service-account-file", "vapid-key-file", "tls-key",
            "turn-secret-file", "store-password-file",
        ].contains(name)
    }

    /// The name of the environment variable: `RINGLINE_LISTEN`.
    var variable: String { "RINGLINE_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined() }

    /// All settings of `ringline serve`, in the order of the documentation.
    static let all = general + http

    private static let general: [Setting] = [
        Setting(
            name: "listen",
            placeholder: "HOST:PORT",
            fallback: "127.0.0.1:8080",
            meaning: "Where clients connect; port 0 takes any free one."
        ),
        Setting(
            name: "admin-listen",
            placeholder: "HOST:PORT",
            fallback: "127.0.0.1:9090",
            meaning: "Where /healthz, /readyz and /metrics are served; 'none' = nowhere. Keep it private."
        ),
        Setting(
            name: "operator-pages",
            placeholder: "DIR",
            fallback: nil,
            meaning:
                "The folder with the operators' page, which --admin-listen then serves; its searches need a service's token."
        ),
        Setting(
            name: "data",
            placeholder: "DIR",
            fallback: "./data",
            meaning: "The folder for calls, devices and generated keys; :memory: keeps nothing."
        ),
        Setting(
            name: "store",
            placeholder: "URL",
            fallback: nil,
            meaning:
                "The PostgreSQL database for calls and devices, postgres://user@host/database; by default they are in the data folder."
        ),
        Setting(
            name: "store-password-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "The password of the user in --store; one newline at the end is stripped."
        ),
        Setting(
            name: "wait-for-data",
            placeholder: "SECONDS",
            fallback: "15",
            meaning:
                "How long to wait for a data folder or a database that another ringline still uses, as in a rolling restart; 0 = do not wait."
        ),
        Setting(
            name: "node-listen",
            placeholder: "HOST:PORT",
            fallback: nil,
            meaning:
                "Where this server accepts links of others on the same --store, as one node of several. Links are not encrypted: keep it private."
        ),
        Setting(
            name: "node-address",
            placeholder: "HOST:PORT",
            fallback: nil,
            meaning:
                "Where the other nodes reach this one; default: --node-listen, with the machine's host name for 0.0.0.0 and [::]."
        ),
        Setting(
            name: "lease",
            placeholder: "SECONDS",
            fallback: "3",
            meaning:
                "How long a server that cannot be reached keeps the database of --store before another one may claim it, 1 to 60."
        ),
        Setting(
            name: "jwt-secret-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "The HS256 secret; all bytes count, except one newline at the end."
        ),
        Setting(
            name: "jwt-public-key-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "A public key in PEM: RSA for RS256, P-256 for ES256."
        ),
        Setting(
            name: "jwks-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "A JSON Web Key Set; a token's kid selects the key."
        ),
        Setting(
            name: "jwks-url",
            placeholder: "URL",
            fallback: nil,
            meaning:
                "The HTTPS address where your issuer publishes its JSON Web Key Set; fetched again when it may have changed."
        ),
        Setting(
            name: "jwks-ca-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "Certificate authorities to trust for --jwks-url instead of the system's."
        ),
        Setting(
            name: "jwt-user-claim",
            placeholder: "NAME",
            fallback: nil,
            meaning: "The claim that names the user; default: sub, else uid."
        ),
        Setting(name: "jwt-issuer", placeholder: "TEXT", fallback: nil, meaning: "The required value of iss."),
        Setting(
            name: "jwt-audience",
            placeholder: "TEXT",
            fallback: nil,
            meaning: "The required value of aud, or of one of its elements."
        ),
        Setting(
            name: "jwt-require-expiry",
            placeholder: "true|false",
            fallback: "true",
            meaning: "Whether a token must have exp."
        ),
        Setting(
            name: "apns-key-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "Apple's .p8 key; without it pushes are only logged."
        ),
        Setting(name: "apns-key-id", placeholder: "ID", fallback: nil, meaning: "The key's id, 10 characters."),
        Setting(
            name: "apns-team-id",
            placeholder: "ID",
            fallback: nil,
            meaning: "The developer team's id, 10 characters."
        ),
        Setting(
            name: "apns-environment",
            placeholder: "auto|sandbox|production",
            fallback: "auto",
            meaning: "Which of Apple's services is asked first; auto finds out for each device."
        ),
        Setting(
            name: "apns-endpoint-sandbox",
            placeholder: "URL",
            fallback: "https://api.sandbox.push.apple.com",
            meaning: "Another sandbox endpoint, for tests."
        ),
        Setting(
            name: "apns-endpoint-production",
            placeholder: "URL",
            fallback: "https://api.push.apple.com",
            meaning: "Another production endpoint, for tests."
        ),
        Setting(
            name: "apns-ca-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "Certificate authorities to trust for APNs instead of the system's."
        ),
        Setting(
            name: "fcm-service-account-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "Firebase's service account (JSON); without it pushes to Android devices are only logged."
        ),
        Setting(
            name: "fcm-endpoint",
            placeholder: "URL",
            fallback: "https://fcm.googleapis.com",
            meaning: "Another Firebase endpoint, for tests."
        ),
        Setting(
            name: "fcm-ca-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "Certificate authorities to trust for Firebase instead of the system's."
        ),
        Setting(
            name: "vapid-subject",
            placeholder: "ADDRESS",
            fallback: nil,
            meaning:
                "Where push services reach you, mailto:name@example.com or an https address; without it pushes to browsers are only logged."
        ),
        Setting(
            name: "vapid-key-file",
            placeholder: "FILE",
            fallback: nil,
            meaning:
                "The key by which push services know this server (PEM, P-256), made if it is missing; default: vapid-key.pem in the data folder."
        ),
        Setting(
            name: "web-push-host",
            placeholder: "HOST[:PORT]",
            fallback: nil,
            meaning:
                "A host besides the known push services to which browsers may subscribe: a name, *.domain, or host:port, which alone may have a private address.",
            isRepeatable: true
        ),
        Setting(
            name: "web-push-ca-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "Certificate authorities to trust for Web Push instead of the system's."
        ),
        Setting(
            name: "tls-cert",
            placeholder: "FILE",
            fallback: nil,
            meaning: "The certificate chain in PEM; with it the server speaks TLS 1.2 or later."
        ),
        Setting(name: "tls-key", placeholder: "FILE", fallback: nil, meaning: "The certificate's private key in PEM."),
        Setting(
            name: "allow-origin",
            placeholder: "ORIGIN",
            fallback: nil,
            meaning: "An Origin from which browsers may connect, in addition to the server's own; * = any.",
            isRepeatable: true
        ),
        Setting(
            name: "stun-url",
            placeholder: "URL",
            fallback: nil,
            meaning: "A STUN server to tell clients about, such as stun:host:port.",
            isRepeatable: true
        ),
        Setting(
            name: "turn-secret-file",
            placeholder: "FILE",
            fallback: nil,
            meaning: "coturn's static-auth-secret: clients get time-limited credentials for the --turn-url servers."
        ),
        Setting(
            name: "turn-url",
            placeholder: "URL",
            fallback: nil,
            meaning: "A TURN server to tell clients about, such as turn:host:port?transport=udp or turns:host:port.",
            isRepeatable: true
        ),
        Setting(
            name: "turn-ttl",
            placeholder: "SECONDS",
            fallback: "86400",
            meaning: "How long a TURN credential is valid, at most a year."
        ),
        Setting(
            name: "ring-timeout",
            placeholder: "SECONDS",
            fallback: "45",
            meaning: "How long a callee is rung if the offer does not say, at most 3600."
        ),
        Setting(
            name: "probe-timeout",
            placeholder: "SECONDS",
            fallback: "2",
            meaning:
                "How long a connection may take to answer the ping of an offer before its device is pushed, at most 600."
        ),
        Setting(
            name: "disconnect-grace",
            placeholder: "SECONDS",
            fallback: "30",
            meaning: "How long a side may be gone before an answered call ends, at most 3600."
        ),
        Setting(
            name: "busy-policy",
            placeholder: "waiting|busy",
            fallback: "waiting",
            meaning:
                "What a second caller gets while the callee is in a call: waiting = the call rings, busy = it ends with busy."
        ),
        Setting(
            name: "caller-name",
            placeholder: "token|any",
            fallback: "any",
            meaning:
                "Where a caller's displayed name comes from: token = only from the token, any = the offer may set it too."
        ),
        Setting(
            name: "payload-alias",
            placeholder: "BUNDLE:KEY=MEMBER",
            fallback: nil,
            meaning:
                "A key for the pushes of calls to an app, with the value of one of their members: com.example.app:UUID=callUUID.",
            isRepeatable: true
        ),
        Setting(
            name: "socketio-trust-register",
            placeholder: "true|false",
            fallback: "false",
            meaning:
                "Whether to trust the user that a Socket.IO client without a token registers as; only for private networks."
        ),
        Setting(
            name: "max-connections",
            placeholder: "COUNT",
            fallback: nil,
            meaning: "The most sockets open at a time; default: as many as the descriptor limit allows."
        ),
        Setting(
            name: "trusted-proxy",
            placeholder: "ADDRESS[/BITS]",
            fallback: nil,
            meaning: "The address of a proxy, or a block of addresses, whose X-Forwarded-For is trusted.",
            isRepeatable: true
        ),
        Setting(
            name: "connects-per-minute",
            placeholder: "COUNT",
            fallback: "60",
            meaning:
                "How many connects a minute a user may make, on average and in a burst; more are answered with 429."
        ),
        Setting(
            name: "kept-bytes-per-day",
            placeholder: "BYTES",
            fallback: "268435456",
            meaning:
                "How many bytes of logs and timelines are stored per user and day; above that users only take and end calls."
        ),
        Setting(
            name: "rings-per-pair",
            placeholder: "COUNT",
            fallback: "6",
            meaning: "How many times a minute one caller may ring one callee; more are answered with 429. 0 = no limit."
        ),
        Setting(
            name: "rings-per-callee",
            placeholder: "COUNT",
            fallback: "30",
            meaning:
                "How many times a minute all callers together may ring one callee; more are answered with 429. 0 = no limit."
        ),
        Setting(
            name: "directory-numbers",
            placeholder: "COUNT",
            fallback: "2000000",
            meaning:
                "How many numbers with a name for all users the call directory may have; more are answered with 413."
        ),
        Setting(
            name: "loops",
            placeholder: "COUNT",
            fallback: "1",
            meaning:
                "The number of event loops that share the connections, 1 to 16; with more, TLS and framing use more cores."
        ),
        Setting(
            name: "log-level",
            placeholder: "LEVEL",
            fallback: "info",
            meaning: "The lowest level to log: trace, debug, info, notice, warning, error or critical."
        ),
        Setting(
            name: "log-format",
            placeholder: "text|json",
            fallback: "text",
            meaning: "The format of log lines; they go to stderr."
        ),
        Setting(
            name: "audit-log",
            placeholder: "FILE",
            fallback: nil,
            meaning:
                "The audit log of refused tokens, blocks, revocations and operators' commands, one JSON line each; - = stdout."
        ),
    ]

    /// Returns the setting of that name.
    static func named(_ name: String) -> Setting? { all.first { $0.name == name } }
}
