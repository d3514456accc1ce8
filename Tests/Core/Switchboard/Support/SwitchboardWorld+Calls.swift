import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

extension SwitchboardWorld {
    static func offer(
        _ callID: String,
        to: String,
        id: String = "o",
        sdp: String = "v=0\\r\\n",
        more: String = ""
    )
        -> String
    { #"{"type":"offer","id":"\#(id)","callId":"\#(callID)","to":"\#(to)","sdp":"\#(sdp)"\#(more)}"# }

    static func text(to user: String) -> String { #"{"type":"message","id":"m","to":"\#(user)","body":"x"}"# }

    static func plain(_ type: String, _ callID: String, id: String, more: String = "") -> String {
        #"{"type":"\#(type)","id":"\#(id)","callId":"\#(callID)"\#(more)}"#
    }

    static func answer(_ callID: String, id: String = "a", sdp: String = "v=0\\r\\ns=b\\r\\n") -> String {
        plain("answer", callID, id: id, more: #","sdp":"\#(sdp)""#)
    }

    static func ice(_ callID: String, id: String) -> String {
        plain("ice", callID, id: id, more: #","candidate":{"candidate":"\#(id)"}"#)
    }

    /// Registers a device, by default with a VoIP push token.
    @discardableResult
    func register(
        _ principal: Principal,
        _ device: String?,
        voip: String? = "aa",
        alert: String? = nil,
        firebase: String? = nil,
        bundle: String = "com.example.app",
        platform: String = "ios",
        environment: DeviceRegistration.Environment? = nil
    ) throws -> Reply {
        var registration = DeviceRegistration(
            bundleID: bundle,
            platform: platform,
            device: try device.map { try SwitchboardTests.device($0) },
            environment: environment
        )
        registration.tokens[.voip] = voip.map { .plain($0) }
        registration.tokens[.alert] = alert.map { .plain($0) }
        registration.tokens[.firebase] = firebase.map { .plain($0) }
        return try reply(principal, .devices(.register(registration)))
    }

    /// Returns the newest stored record of a call.
    func record(_ callID: String) -> CallRecord? {
        changes.reversed().lazy.compactMap { if case .call(let record) = $0 { record } else { nil } }
            .first { $0.id.text == callID }
    }

    /// Hands in APNs' response to a push.
    func respondToPush(_ push: OutgoingPush, _ status: Int, _ reason: String? = nil, at timestamp: Moment? = nil) {
        give(.pushed(push.id, .response(status: status, reason: reason, timestamp: timestamp)))
    }

    func fetch(
        _ principal: Principal,
        _ callID: String,
        since: UInt64? = nil,
        wait: Int64 = 0,
        device: String? = nil
    ) throws
        -> RequestID
    {
        request(
            principal,
            .fetch(
                try call(callID),
                .init(
                    since: since.map { .init(seq: $0) },
                    wait: .seconds(wait),
                    device: try device.map { try SwitchboardTests.device($0) }
                )
            )
        )
    }

    func fetched(_ principal: Principal, _ callID: String, since: UInt64? = nil, device: String? = nil) throws -> Reply
    {
        let id = try fetch(principal, callID, since: since, device: device)
        guard let reply = replies[id] else { throw Missing("no reply yet") }
        return reply
    }
}

/// A call from 11 to 10, both with a connection; the call rings, or was answered.
struct Talk {
    let world: SwitchboardWorld
    let caller: SocketID
    let callee: SocketID

    init(_ world: SwitchboardWorld = SwitchboardWorld(), callID: String = "c-1") throws {
        self.world = world
        caller = try world.open("11", "a1")
        callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer(callID, to: "10"))
        world.pong(callee)
    }

    static func answered(_ world: SwitchboardWorld = SwitchboardWorld(), callID: String = "c-1") throws -> Talk {
        let talk = try Talk(world, callID: callID)
        world.send(talk.callee, SwitchboardWorld.answer(callID))
        return talk
    }

    /// Discards the frames that both connections were sent so far.
    func clear() {
        _ = world.takeFrames(of: caller)
        _ = world.takeFrames(of: callee)
    }
}
