import CallClient
import CallCore
import Foundation
import Testing

/// A device without CallKit and WebRTC, which records the core's outputs and queues the inputs that follow from them.
final class TestDevice: CallSystem, MediaEngine, SignalingServer, CallScreen {
    let user: UserID
    let name: String
    let relay: TestRelay
    /// The outputs of the core, in order.
    var did: [String] = []
    /// Functions that hand the waiting inputs to the core, in order, one input each.
    var turns: [() -> Void] = []
    /// The newest call that the user sees.
    var shown: CallUUID?
    var deadline: Moment?
    var isOnline = false

    private let device: DeviceID
    lazy var calls = Calls(
        user: user,
        device: device,
        name: name,
        savedSkew: nil,
        ports: self,
        setTimer: { self.deadline = $0 }
    )

    init(_ user: UserID, _ device: DeviceID, _ name: String, _ relay: TestRelay) {
        self.user = user
        self.device = device
        self.name = name
        self.relay = relay
    }

    func goOnline() {
        isOnline = true
        arrives(["type": "welcome"])
    }

    func arrives(_ object: [String: Any]) {
        let frame = TestRelay.bytes(object)
        turns.append { self.calls.received(frame) }
    }

    private func later(_ input: CallClient.Input) { turns.append { self.calls.take(input) } }

    func reportIncoming(_ uuid: CallUUID, _ caller: CallClient.DisplayedPeer) {
        shown = uuid
        did.append("report \(caller.name ?? caller.handle)")
    }
    func reportConnecting(_ uuid: CallUUID) {
        did.append("connecting")
        later(.audioActivated)
    }
    func reportConnected(_ uuid: CallUUID) { did.append("connected") }
    func reportEnded(_ uuid: CallUUID, _ end: ReportedEnd) { did.append("ended \(end.rawValue)") }
    func update(_ uuid: CallUUID, _ caller: CallClient.DisplayedPeer) { did.append("update") }
    func fail(_ uuid: CallUUID, _ refusal: CallClient.Refusal) { did.append("refused") }

    func makeOffer(_ uuid: CallUUID, round: UInt32, hasVideo: Bool, restartsICE: Bool) {
        shown = uuid
        make(.offer, uuid, round: round)
    }
    func makeAnswer(_ uuid: CallUUID, round: UInt32) {
        make(.answer, uuid, round: round)
        later(.mediaConnected(uuid))
    }
    private func make(_ kind: CallClient.DescriptionKind, _ uuid: CallUUID, round: UInt32) {
        later(.localDescription(uuid, round: round, kind, sdp: "v=0\r\ns=\(kind.rawValue) of \(name)\r\n"))
        later(.localCandidate(uuid, round: round, #"{"candidate":"candidate:1"}"#))
    }
    func setRemote(_ uuid: CallUUID, _ kind: CallClient.DescriptionKind, sdp: String) {
        did.append("set \(kind.rawValue)")
        if kind == .answer { later(.mediaConnected(uuid)) }
    }
    func add(_ uuid: CallUUID, candidate: String?) { did.append("add candidate") }
    func rollback(_ uuid: CallUUID) { did.append("rollback") }
    func setAudio(_ uuid: CallUUID, isOn: Bool) { did.append(isOn ? "audio on" : "audio off") }
    func hold(_ uuid: CallUUID, _ isHeld: Bool) { did.append("hold") }
    func mute(_ uuid: CallUUID, audio: Bool?, video: Bool?) { did.append("mute") }
    func close(_ uuid: CallUUID) { did.append("close") }

    func connect() { did.append("connect") }
    func send(_ frame: [UInt8]) { arrives(relay.take(frame, from: self)) }
    func request(
        _ method: String,
        _ path: String,
        _ body: [UInt8],
        _ authorization: CallClient.Authorization,
        _ reply: @escaping (_ status: Int, _ body: [UInt8]) -> Void
    ) {
        did.append("\(method) \(path)")
        let answer = TestRelay.bytes(method == "POST" ? relay.take(body, from: self) : relay.call(for: self))
        turns.append { reply(200, answer) }
    }
    func renewToken() { did.append("renew token") }
    func disconnect(tokenOf user: UserID) { did.append("disconnect, token of \(user.text)") }

    func playRingback(_ uuid: CallUUID) { did.append("ringback") }
    func show(_ uuid: CallUUID, delayedBy code: String) { did.append("delayed \(code)") }
    func show(_ uuid: CallUUID, peer: MediaUpdate) { did.append("peer's media") }
    func show(_ uuid: CallUUID, digits: String) { did.append("digits") }
    func show(_ uuid: CallUUID, json: String) { did.append("json") }
}

/// A minimal server with one call and one log.
final class TestRelay {
    private(set) var log: [[String: Any]] = []
    private var devices: [TestDevice] = []

    var callID: String { log.first?["callId"] as? String ?? "" }

    func add(_ user: String, _ name: String) throws -> TestDevice {
        let device = TestDevice(try #require(UserID(user)), try #require(DeviceID("\(user)-device")), name, self)
        devices.append(device)
        return device
    }

    /// Hands in the waiting inputs of all devices until no input waits.
    func settle() {
        while let device = devices.first(where: { !$0.turns.isEmpty }) { device.turns.removeFirst()() }
    }

    /// Takes a signal, as a frame or as a request's body, and relays it; returns the ack.
    func take(_ bytes: [UInt8], from sender: TestDevice) -> [String: Any] {
        var signal = Self.object(bytes)
        if let action = signal.removeValue(forKey: "action") {
            signal.removeValue(forKey: "deviceId")
            let data = signal.removeValue(forKey: "data") as? [String: Any] ?? [:]
            signal.merge(data) { mine, _ in mine }
            signal["type"] = action
        }
        signal["from"] = sender.user.text
        signal["fromDevice"] = "\(sender.user.text)-device"
        signal["room"] = "p2p:11-10"
        signal["epoch"] = 1
        signal["seq"] = log.count + 1
        log.append(signal)
        for device in devices where device.isOnline && device !== sender { device.arrives(signal) }
        return ["type": "ack", "id": signal["id"] ?? "", "callId": callID, "epoch": 1, "seq": log.count]
    }

    /// Returns the call as `GET` shows it.
    func call(for device: TestDevice) -> [String: Any] {
        let signals = log.filter { $0["from"] as? String != device.user.text }
        return [
            "callId": callID, "epoch": 1, "room": "p2p:11-10", "state": "ringing", "signals": signals,
            "next": log.count,
        ]
    }

    /// The payload of the callee's VoIP push.
    func push() throws -> [AnyHashable: Any] {
        let now = Calls.now().milliseconds
        let payload: [String: Any] = [
            "aps": ["content-available": 1], "type": "call.incoming", "callId": callID, "epoch": 1, "fromUserId": "11",
            "fromDisplayName": "Taro", "room": "p2p:11-10", "hasVideo": false, "handle": "11",
            "callUUID": callID.lowercased(), "sentAt": now, "ringUntil": now + 45_000, "act": "capability",
        ]
        return Self.object(Self.bytes(payload))
    }

    static func object(_ bytes: [UInt8]) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:]
    }

    static func bytes(_ object: [String: Any]) -> [UInt8] {
        (try? JSONSerialization.data(withJSONObject: object)).map { Array($0) } ?? []
    }
}
