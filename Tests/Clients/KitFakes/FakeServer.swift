package import CallCore
package import Foundation
package import RinglineKit

/// A small server with one call between users 11 and 10, and one log, for devices of both.
///
/// It knows several devices of the callee: the first answer wins, and one that was not shown is no decline.
@MainActor
package final class FakeServer {
    /// The server's address.
    package static let address = URL(string: "https://calls.example.com") ?? URL(fileURLWithPath: "/")

    /// The entries of the call, in order.
    package private(set) var log: [[String: Any]] = []
    /// Why the call ended; `nil` = it has not.
    package private(set) var reason: String?
    /// Whether it names STUN and TURN servers to devices.
    package var namesICEServers = true
    /// How long a TURN credential is valid; `nil` = the credentials do not say it.
    package var turnLifetime: Moment.Duration?
    /// The user whom the tokens name for the server; `nil` = `welcome` does not say it.
    package var tokenUser: String?
    /// What waits to happen, in order.
    var turns: [@MainActor () -> Void] = []
    private var devices: [FakeDevice] = []
    private var answeredBy: String?

    package init() {}

    /// Adds a device of a user.
    package func add(
        _ user: String,
        _ name: String,
        _ system: any CallSystem,
        clock: FakeClock = FakeClock()
    ) -> FakeDevice {
        guard let id = UserID(user) else { preconditionFailure("\(user) has not the form of a user's id") }
        let device = FakeDevice(id, name, clock, system, self)
        devices.append(device)
        return device
    }

    /// Lets everything happen that waits, until nothing does.
    package func settle() async {
        for _ in 0..<3 {
            // The token source is asynchronous.
            for _ in 0..<5 { await Task.yield() }
            while !turns.isEmpty { turns.removeFirst()() }
        }
    }

    /// The push that a device of the callee gets for the call.
    package func push(sentAt now: Moment, _ change: [AnyHashable: Any] = [:]) -> [AnyHashable: Any] {
        let call = log.first?["callId"] as? String ?? ""
        // The kit's callIds are UUIDs, so that one is the UUID for the system as well.
        let push: [AnyHashable: Any] = [
            "aps": ["content-available": 1], "type": "call.incoming", "callId": call, "epoch": 1, "fromUserId": "11",
            "fromDisplayName": "Taro", "toUserId": "10", "room": "p2p:11-10", "hasVideo": false,
            "callUUID": call, "handle": "11", "sentAt": Int(now.milliseconds),
            "ringUntil": Int(now.milliseconds) + 45_000, "act": "capability",
        ]
        return push.merging(change) { $1 }
    }

    /// Begins a call to user 10 by itself, as a schedule asks.
    ///
    /// `data`: The app's data in the schedule.
    package func beginScheduled(_ call: String, data: Any) {
        let entry: [String: Any] = [
            "type": "offer", "callId": call, "callUUID": call, "room": "p2p:11-10", "epoch": 1, "seq": 1, "from": "11",
            "fromDevice": "scheduler", "hasVideo": false, "displayName": "Mina", "media": "none", "scheduled": true,
            "schedule": "s-1", "handle": "+821012345678", "handleType": "phoneNumber", "data": data,
        ]
        log.append(entry)
        for device in devices where isFor(device, entry) { device.socket?.arrives(entry) }
    }

    /// The types of the signals in the log.
    package var types: [String] { log.compactMap { $0["type"] as? String } }

    // MARK: Signals

    func log(for device: FakeDevice) -> [[String: Any]] {
        log.filter { $0["fromDevice"] as? String != device.name && isFor(device, $0) }
    }

    func take(_ frame: [String: Any], from device: FakeDevice) -> [String: Any] {
        let id = frame["id"] ?? ""
        guard let type = frame["type"] as? String, type != "auth" else { return ["type": "ack", "id": id] }
        let call = frame["callId"] ?? ""
        let isRepeat = log.contains {
            $0["id"] as? String == id as? String && $0["fromDevice"] as? String == device.name
        }
        if !isRepeat, frame["shown"] as? Bool != false { append(frame, type, from: device) }
        return ["type": "ack", "id": id, "callId": call, "epoch": 1, "seq": log.count]
    }

    private func append(_ frame: [String: Any], _ type: String, from device: FakeDevice) {
        var entry = frame
        entry["from"] = device.user.text
        entry["fromDevice"] = device.name
        entry["room"] = "p2p:11-10"
        entry["epoch"] = 1
        entry["seq"] = log.count + 1
        if type == "offer" { entry["callUUID"] = frame["callId"] }
        let isFirstAnswer = type == "answer" && answeredBy == nil
        if isFirstAnswer { answeredBy = device.name }
        log.append(entry)
        relay(entry, except: device)
        if isFirstAnswer {
            changed(["state": "answered", "answeredBy": ["user": device.user.text, "device": device.name]], device)
        }
        if type == "end", reason == nil {
            reason = frame["reason"] as? String ?? "hangup"
            changed(["state": "ended", "reason": reason ?? ""], device)
        }
        if frame["confirm"] as? Bool == true, reason == nil {
            reason = "confirmed"
            changed(["state": "ended", "reason": "confirmed"], nil)
        }
    }

    private func changed(_ fields: [String: Any], _ cause: FakeDevice?) {
        var event: [String: Any] = [
            "type": "call", "room": "p2p:11-10", "epoch": 1, "callId": log.first?["callId"] ?? "",
        ]
        event.merge(fields) { $1 }
        event["seq"] = log.count + 1
        log.append(event)
        for device in devices where device !== cause { device.socket?.arrives(seen(event, by: device)) }
    }

    /// A state change as a device sees it: for a device that did not answer, the answer is the end.
    private func seen(_ event: [String: Any], by device: FakeDevice) -> [String: Any] {
        guard isCallee(device), device.name != answeredBy else { return event }
        var event = event
        if event["state"] as? String == "answered" {
            (event["state"], event["reason"]) = ("ended", "answered_elsewhere")
        }
        if event["reason"] as? String == "declined" { event["reason"] = "declined_elsewhere" }
        return event
    }

    private func relay(_ entry: [String: Any], except sender: FakeDevice) {
        for device in devices where device !== sender && isFor(device, entry) { device.socket?.arrives(entry) }
    }

    private func isFor(_ device: FakeDevice, _ entry: [String: Any]) -> Bool {
        guard entry["from"] != nil else { return true }
        if entry["from"] as? String == device.user.text { return false }
        let isOffer = entry["type"] as? String == "offer"
        return !isCallee(device) || isOffer || answeredBy == nil || answeredBy == device.name
    }

    private func isCallee(_ device: FakeDevice) -> Bool { log.first?["from"] as? String != device.user.text }

    // MARK: Requests

    /// The STUN and TURN servers that a device is told.
    func iceServers(for device: FakeDevice) -> [[String: Any]] {
        guard namesICEServers else { return [] }
        let expiry = turnLifetime.map { device.serverTime + $0 }
        let username = device.turnUsername ?? expiry.map { "\($0.milliseconds / 1_000):\(device.user.text)" } ?? "u"
        return [["urls": ["turn:turn.example.com"], "username": username, "credential": "c"]]
    }

    func response(to request: SignalingRequest, from device: FakeDevice) -> SignalingResponse {
        if request.url.hasSuffix("/api/turn-cred") {
            guard let turnLifetime else { return SignalingResponse(status: 404) }
            let body: [String: Any] = [
                "ttl": turnLifetime.milliseconds / 1_000, "iceServers": iceServers(for: device),
            ]
            return SignalingResponse(status: 200, body: Self.bytes(body))
        }
        guard request.url.contains("/api/calls/signal") else {
            return SignalingResponse(status: 200, body: Self.bytes([:]))
        }
        if request.method == "POST" {
            var frame = Self.object(request.body)
            frame["type"] = frame.removeValue(forKey: "action")
            frame.merge(frame.removeValue(forKey: "data") as? [String: Any] ?? [:]) { mine, _ in mine }
            var ack = take(frame, from: device)
            ack["ok"] = true
            return SignalingResponse(status: 200, body: Self.bytes(ack))
        }
        guard let call = log.first?["callId"] as? String else { return SignalingResponse(status: 404) }
        let isOver = reason != nil || answeredBy != nil && isCallee(device) && answeredBy != device.name
        var body: [String: Any] = [
            "callId": call, "epoch": 1, "room": "p2p:11-10",
            "state": isOver ? "ended" : answeredBy == nil ? "ringing" : "active",
            "callUUID": call, "next": log.count,
            "signals": log(for: device).map { seen($0, by: device) },
        ]
        if isOver { body["reason"] = reason ?? "answered_elsewhere" }
        return SignalingResponse(status: 200, body: Self.bytes(body))
    }

    static func bytes(_ object: [String: Any]) -> [UInt8] {
        // Only the tests' own objects are written, and all of them can be.
        [UInt8]((try? JSONSerialization.data(withJSONObject: object)) ?? Data())
    }

    static func object(_ bytes: [UInt8]) -> [String: Any] {
        // The same, for what the kit has written.
        (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
    }
}
