import CallCore
import CallPorts
import CallTrace
import CallWire
import Diagnostics
import Identity
import JSON
import LibWebSockets
import Threads

/// The call of `ringline try`: the callee's app was killed, a push wakes it, and it answers.
struct TrialCall {
    let server: MemoryServer
    let port: Int
    let pushes: DemoPushes
    /// Receives the call each time that something may have happened in it.
    let show: (Explanation) -> Void

    private static let caller = "11"
    private static let callee = "10"
    private static let callID = "11-10"
    private static let phone = "iphone-h"
    private static let pushToken = String(repeating: "0a1b", count: 16)

    private var target: ClientTarget {
        get throws(UsageError) {
            guard let target = ClientTarget("ws://127.0.0.1:\(port)/ws") else { throw UsageError("no port") }
            return target
        }
    }

    /// Plays the call to its end, and returns it.
    func play() throws(UsageError) -> Explanation {
        let hanakosToken = token(Self.callee, "Hanako")
        try register(hanakosToken)
        let earlier = try start(Self.phone, hanakosToken)
        earlier.kill()
        let taro = try start("iphone-t", token(Self.caller, "Taro"))
        taro.sendFrame("offer") { json in
            json.name("callId")
            json.plain(Self.callID)
            json.name("to")
            json.plain(Self.callee)
            json.name("sdp")
            json.value(SampleMedia.offer(hasVideo: false))
        }
        let payload = try push()
        // The push is on its way, and the system starts the app.
        try pause(900)
        try fetch(with: payload)
        let hanako = try start(Self.phone, hanakosToken)
        try wait("the offer") { hanako.has("offer") }
        signal("ringing", by: hanako)
        try pause(1_200)
        signal("answer", by: hanako) { json in
            json.name("sdp")
            json.value(SampleMedia.answer(hasVideo: false))
        }
        try wait("the answer") { taro.has("answer") }
        signal("connected", by: taro)
        try pause(1_500)
        signal("end", by: taro)
        for phone in [taro, hanako] { try wait("the end") { phone.has("call", state: "ended") } }
        try pause(100)
        taro.kill()
        hanako.kill()
        guard let explanation else { throw UsageError("the server has no record of the call") }
        return explanation
    }

    private func token(_ user: String, _ name: String) -> String {
        server.issuer.issue(user: user, name: name, ttlSeconds: 60, now: SystemClock.wall() / 1_000)
    }

    private func start(_ name: String, _ token: String) throws(UsageError) -> TrialPhone {
        let phone = try TrialPhone(named: name, target, token: token)
        try wait("a connection") { phone.isConnected || phone.fault != nil }
        if let fault = phone.fault { throw UsageError("\(name) cannot connect: \(fault)") }
        return phone
    }

    private func signal(_ type: String, by phone: TrialPhone, _ write: (inout JSONWriter) -> Void = { _ in }) {
        phone.sendFrame(type) { json in
            json.name("callId")
            json.plain(Self.callID)
            write(&json)
        }
    }

    /// Registers Hanako's iPhone for pushes, as its app does.
    private func register(_ token: String) throws(UsageError) {
        var json = JSONWriter()
        json.beginObject()
        for (name, value) in [
            ("platform", "ios"), ("bundleId", "com.example.chat"), ("deviceId", Self.phone),
            ("environment", "sandbox"), ("voipDeviceToken", Self.pushToken),
        ] {
            json.name(name)
            json.plain(value)
        }
        json.endObject()
        try request("PUT", "/api/me/devices", "Bearer \(token)", String(decoding: json.bytes, as: UTF8.self))
    }

    /// Waits for the push to Hanako's iPhone, and returns its payload.
    private func push() throws(UsageError) -> [UInt8] {
        var taken: [OutgoingPush] = []
        try wait("the push") {
            taken += pushes.removeAll(for: Self.pushToken)
            return !taken.isEmpty
        }
        return taken.first?.payload ?? []
    }

    /// Fetches the call with the push's own permission, as an app does that was just started.
    private func fetch(with payload: [UInt8]) throws(UsageError) {
        // The server of this process writes valid payloads.
        guard let act = (try? JSONObject(payload))?.word("act") else { throw UsageError("the push has no 'act'") }
        try request("GET", "/api/calls/signal/\(Self.callID)", "Ring \(act)")
    }

    private func request(
        _ method: String,
        _ path: String,
        _ authorization: String,
        _ body: String = ""
    ) throws(UsageError) {
        let end = ContinuousClock.now + .seconds(5)
        let socket: ClientSocket
        do throws(ClientSocket.Unreachable) {
            socket = try .connected(host: "127.0.0.1", port: port, until: end)
        } catch { throw UsageError("\(error)") }
        let lines = [
            "\(method) \(path) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Authorization: \(authorization)",
            "Content-Length: \(body.utf8.count)", "", body,
        ]
        let response = HTTPExchange.response(to: lines.joined(separator: "\r\n"), on: socket, until: end)
        guard response?.status == 200 else {
            throw UsageError("\(method) \(path) failed: \(response.map { "\($0.status)" } ?? "no response")")
        }
    }

    // MARK: Time

    private var explanation: Explanation? {
        guard let id = CallID(Self.callID), let user = UserID(Self.callee), let device = DeviceID(Self.phone) else {
            return nil
        }
        // What the server knows of Hanako's iPhone, as far as the verdict needs it.
        let iPhone = DeviceRecord(
            user: user,
            id: device,
            isNamed: true,
            platform: "ios",
            bundleID: "com.example.chat",
            createdAt: Moment(milliseconds: 0)
        )
        return server.calls.explanation(of: CallSelector(id), devices: [iPhone])
    }

    private func pause(_ milliseconds: Int) throws(UsageError) {
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        try wait("the end of a pause") { ContinuousClock.now >= end }
    }

    /// Waits, and shows meanwhile what happens.
    private func wait(_ what: String, until isDone: () -> Bool) throws(UsageError) {
        let end = ContinuousClock.now + .seconds(5)
        while !isDone() {
            guard ContinuousClock.now < end else { throw UsageError("\(what) did not come within 5 s") }
            if let explanation { show(explanation) }
            _ = Monitor(()).wait(until: .now + .milliseconds(20)) { _ in nil as Bool? }
        }
    }
}
