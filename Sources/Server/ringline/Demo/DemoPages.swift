import CallCore
import CallPorts
import CallTrace
import Identity
import JSON
import LibWebSockets
import Threads

/// Responds to the requests of the demo's page: its files, its tokens, the pushes to its phones, and their silence.
struct DemoPages: Sendable {
    /// A user of the demo.
    struct User {
        let id: String
        let name: String
    }

    /// A device of a user.
    struct Device {
        let id: String
        let kind: String
    }

    /// The two users.
    static let users = [User(id: "11", name: "Taro"), User(id: "10", name: "Hanako")]

    /// The names on the page, for ladders and verdicts.
    static var names: CallNames {
        var (users, devices): ([UserID: String], [DeviceID: String]) = ([:], [:])
        for user in Self.users {
            if let id = UserID(user.id) { users[id] = user.name }
            for device in Self.devices(of: user) {
                if let id = DeviceID(device.id) { devices[id] = device.kind }
            }
        }
        return CallNames(users: users, devices: devices)
    }

    private static func devices(of user: User) -> [Device] {
        ["phone", "tablet"].map { Device(id: "\($0)-\(user.name.lowercased())", kind: $0) }
    }

    /// The user of the token with which the page watches the calls.
    private static let service = "demo"
    private static let tokenSeconds: Int64 = 12 * 3_600

    /// The modules of the JavaScript kit, which the page loads.
    private static let modules = [
        "ringline", "call", "connection", "core", "descriptions", "engine", "history", "options", "server",
        "service-worker", "web-push",
    ]

    /// The page's files.
    static let page = PageFiles.Page(
        index: "/demo/index.html",
        paths: ["/ringline.wasm", "/page/page.css", "/page/ladder.css", "/page/ladder.js", "/demo/demo.css"]
            + ["demo", "face", "ladders", "media", "network", "phone", "server", "tone"].map { "/demo/\($0).js" }
            + modules.map { "/\($0).js" },
        setting: "pages"
    )

    private let files: PageFiles
    private let tokens: TokenIssuer
    private let pushes: DemoPushes
    private let silence: DemoSilence
    private let calls: DemoCalls
    private let hasTURN: Bool

    init(
        _ files: PageFiles,
        tokens: TokenIssuer,
        pushes: DemoPushes,
        silence: DemoSilence,
        calls: DemoCalls,
        hasTURN: Bool
    ) {
        self.files = files
        self.tokens = tokens
        self.pushes = pushes
        self.silence = silence
        self.calls = calls
        self.hasTURN = hasTURN
    }

    /// Returns the response to a request of the page; `nil` for all others.
    ///
    /// A page of the internet whose name leads to this machine gets nothing: the name is not this machine's own.
    func response(to head: RequestHead) -> Response? {
        guard head.method == "GET" || head.method == "HEAD" else { return nil }
        guard let host = head.host, ListenAddress.isOwn(host) else { return nil }
        if let file = files.response(at: head.path, policy: Self.policy(host)) { return file }
        switch head.path {
        case "/demo/settings": return PageFiles.response("application/json", settings)
        case "/demo/token": return token(head)
        case "/demo/pushes": return PageFiles.response("application/json", pushes(for: head.parameter("token") ?? ""))
        case "/demo/silence": return silence(head)
        case "/demo/woken": return woken(head)
        case "/demo/call": return call(head)
        default: return nil
        }
    }

    /// The content security policy; `'wasm-unsafe-eval'` lets the page compile the client core.
    private static func policy(_ host: String) -> String {
        """
        default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
        media-src 'self' blob:; connect-src 'self' ws://\(host); base-uri 'none'; form-action 'none'; \
        frame-ancestors 'none'
        """
    }

    private var settings: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("hasTURN")
        json.value(hasTURN)
        json.name("users")
        json.beginArray()
        for user in Self.users {
            json.beginObject()
            json.name("id")
            json.value(user.id)
            json.name("name")
            json.value(user.name)
            json.name("devices")
            json.array(Self.devices(of: user)) { device, json in
                json.beginObject()
                json.name("id")
                json.plain(device.id)
                json.name("kind")
                json.plain(device.kind)
                json.endObject()
            }
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    /// Responds with a token of a user, or with a service's if the request names none.
    private func token(_ head: RequestHead) -> Response? {
        let named = head.parameter("user")
        let user = named.flatMap { id in Self.users.first { $0.id == id } }
        guard named == nil || user != nil else { return nil }
        let seconds = head.parameter("seconds").flatMap { Int64($0) } ?? Self.tokenSeconds
        let token = tokens.issue(
            user: user?.id ?? Self.service,
            name: user?.name,
            service: user == nil,
            ttlSeconds: min(max(seconds, 1), Self.tokenSeconds),
            now: SystemClock.wall() / 1_000
        )
        return PageFiles.response("text/plain", Array(token.utf8))
    }

    /// Silences the device that the request names, or hears it again; responds with whether it is silent now.
    private func silence(_ head: RequestHead) -> Response? {
        guard let device = head.parameter("device").flatMap({ DeviceID($0) }) else { return nil }
        let isSilent = silence.set(device, head.parameter("on") == "true")
        return PageFiles.response("application/json", Array((isSilent ? "true" : "false").utf8))
    }

    /// Notes that a push has woken the device that the request names.
    private func woken(_ head: RequestHead) -> Response? {
        guard let device = head.parameter("device").flatMap({ DeviceID($0) }),
            let call = head.parameter("callId").flatMap({ CallID($0) })
        else { return nil }
        calls.wake(device, for: call)
        return PageFiles.response("application/json", Array("true".utf8))
    }

    /// Responds with the call that the request names: its ladder and its verdict.
    private func call(_ head: RequestHead) -> Response? {
        guard let id = head.parameter("callId").flatMap({ CallID($0) }),
            let epoch = head.parameter("epoch").flatMap({ UInt32($0) })
        else { return nil }
        return calls.explain(CallSelector(id, epoch: epoch)).map { PageFiles.response("application/json", $0) }
    }

    private func pushes(for token: String) -> [UInt8] {
        var json = JSONWriter()
        json.beginArray()
        for push in pushes.removeAll(for: token) {
            json.beginObject()
            json.name("kind")
            json.value(push.route.kind.rawValue)
            json.name("payload")
            json.raw(push.payload)
            json.endObject()
        }
        json.endArray()
        return json.bytes
    }
}
