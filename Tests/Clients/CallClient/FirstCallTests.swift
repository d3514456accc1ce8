import CallClient
import CallCore
import Foundation
import Testing

// The page AFirstCall of the client core shows parts of this file, and HouseTests compares the two.

@Suite("The example of the page AFirstCall")
struct FirstCallTests {
    @Test("Two apps make a call through a minimal server and talk until one of them hangs up")
    func call() throws {
        let relay = TestRelay()
        let (taro, hanako) = try (relay.add("11", "Taro"), relay.add("10", "Hanako"))
        taro.goOnline()
        hanako.goOnline()
        relay.settle()

        taro.calls.call(hanako.user, hasVideo: false, uuid: UUID())
        relay.settle()
        #expect(taro.did == ["ringback"] && hanako.did == ["report Taro"])
        #expect(taro.deadline != nil && hanako.deadline != nil, "each side has a timer that stops its ring")

        hanako.calls.take(.answer(try #require(hanako.shown)))
        relay.settle()
        #expect(taro.did.starts(with: ["ringback", "set answer", "connecting"]))
        #expect(hanako.did.starts(with: ["report Taro", "set offer", "add candidate", "connecting"]))
        for device in [taro, hanako] {
            #expect(Set(device.did).isSuperset(of: ["add candidate", "connected", "audio on"]))
        }

        taro.calls.take(.end(try #require(taro.shown)))
        relay.settle()
        #expect(Array(taro.did.suffix(2)) == ["audio off", "close"], "CallKit itself ended the call, so no report")
        #expect(Array(hanako.did.suffix(3)) == ["audio off", "close", "ended remoteEnded"])
        #expect(!taro.calls.hasCalls && !hanako.calls.hasCalls)
    }

    @Test("An app that a VoIP push woke answers the call before it has a connection")
    func push() throws {
        let relay = TestRelay()
        let (taro, hanako) = try (relay.add("11", "Taro"), relay.add("10", "Hanako"))
        taro.goOnline()
        relay.settle()
        taro.calls.call(hanako.user, hasVideo: false, uuid: UUID())
        relay.settle()

        hanako.calls.pushed(try relay.push())
        let path = "/api/calls/signal"
        let fetch = "GET \(path)/\(relay.callID)?device=10-device&peer=11&epoch=1&since=0"
        #expect(hanako.did == ["report Taro", "connect", fetch, "connect", "POST \(path)"])

        hanako.calls.take(.answer(try #require(hanako.shown)))
        relay.settle()
        #expect(relay.log.compactMap { $0["type"] as? String }.contains("answer"))
        #expect(taro.did.contains("connected") && hanako.did.contains("connected"))

        hanako.goOnline()
        relay.settle()
        #expect(hanako.did.count { $0 == "report Taro" } == 1, "the connection's copy of the call does not ring again")
        #expect(taro.calls.hasCalls && hanako.calls.hasCalls)
    }
}

// MARK: - The app's side, as the page shows it

/// CallKit.
protocol CallSystem: AnyObject {
    func reportIncoming(_ uuid: CallUUID, _ caller: CallClient.DisplayedPeer)
    func reportConnecting(_ uuid: CallUUID)
    func reportConnected(_ uuid: CallUUID)
    func reportEnded(_ uuid: CallUUID, _ end: ReportedEnd)
    func update(_ uuid: CallUUID, _ caller: CallClient.DisplayedPeer)
    func fail(_ uuid: CallUUID, _ refusal: CallClient.Refusal)
}

/// The media engine, WebRTC for example: one connection for each call.
protocol MediaEngine: AnyObject {
    func makeOffer(_ uuid: CallUUID, round: UInt32, hasVideo: Bool, restartsICE: Bool)
    func makeAnswer(_ uuid: CallUUID, round: UInt32)
    func setRemote(_ uuid: CallUUID, _ kind: CallClient.DescriptionKind, sdp: String)
    func add(_ uuid: CallUUID, candidate: String?)
    func rollback(_ uuid: CallUUID)
    func setAudio(_ uuid: CallUUID, isOn: Bool)
    func hold(_ uuid: CallUUID, _ isHeld: Bool)
    func mute(_ uuid: CallUUID, audio: Bool?, video: Bool?)
    func close(_ uuid: CallUUID)
}

/// The way to the server: a WebSocket, requests and the user's token.
protocol SignalingServer: AnyObject {
    func connect()
    func send(_ frame: [UInt8])
    func request(
        _ method: String,
        _ path: String,
        _ body: [UInt8],
        _ authorization: CallClient.Authorization,
        _ reply: @escaping (_ status: Int, _ body: [UInt8]) -> Void
    )
    func renewToken()
    func disconnect(tokenOf user: UserID)
}

/// The app's own views and sounds.
protocol CallScreen: AnyObject {
    func playRingback(_ uuid: CallUUID)
    func show(_ uuid: CallUUID, delayedBy code: String)
    func show(_ uuid: CallUUID, peer: MediaUpdate)
    func show(_ uuid: CallUUID, digits: String)
    func show(_ uuid: CallUUID, json: String)
}

/// The calls of this device: the core, with its ports around it.
final class Calls {
    private var client: CallClient
    private let system: any CallSystem
    private let media: any MediaEngine
    private let server: any SignalingServer
    private let screen: any CallScreen
    private let setTimer: (Moment?) -> Void

    init(
        user: UserID,
        device: DeviceID,
        name: String,
        savedSkew: Moment.Duration?,
        ports: any CallSystem & MediaEngine & SignalingServer & CallScreen,
        setTimer: @escaping (Moment?) -> Void
    ) {
        var configuration = CallClient.Configuration(user: user, device: device, signalIDPrefix: UUID().uuidString)
        configuration.displayName = name
        configuration.clockSkew = savedSkew
        client = CallClient(configuration)
        system = ports
        media = ports
        server = ports
        screen = ports
        self.setTimer = setTimer
    }

    /// Hands in an event, and carries out the outputs in order.
    func take(_ input: CallClient.Input) {
        for output in client.handle(input, at: Self.now()) { perform(output) }
        setTimer(client.deadline)
    }

    static func now() -> Moment { Moment(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }

    private func perform(_ output: CallClient.Output) {
        switch output {
        // CallKit.
        case .reportIncoming(let uuid, let caller), .reportRepeated(let uuid, let caller):
            system.reportIncoming(uuid, caller)
        case .reportConnecting(let uuid): system.reportConnecting(uuid)
        case .reportConnected(let uuid): system.reportConnected(uuid)
        case .reportEnded(let uuid, let end): system.reportEnded(uuid, end)
        case .update(let uuid, let caller): system.update(uuid, caller)
        case .refused(let uuid, let refusal): system.fail(uuid, refusal)

        // The media engine.
        case .makeOffer(let uuid, let round, let hasVideo, let restartsICE):
            media.makeOffer(uuid, round: round, hasVideo: hasVideo, restartsICE: restartsICE)
        case .makeAnswer(let uuid, let round): media.makeAnswer(uuid, round: round)
        case .setRemoteDescription(let uuid, let kind, let sdp): media.setRemote(uuid, kind, sdp: sdp)
        case .addRemoteCandidate(let uuid, let candidate): media.add(uuid, candidate: candidate)
        case .rollback(let uuid): media.rollback(uuid)
        case .startAudio(let uuid): media.setAudio(uuid, isOn: true)
        case .stopAudio(let uuid): media.setAudio(uuid, isOn: false)
        case .holdMedia(let uuid, let isHeld): media.hold(uuid, isHeld)
        case .muteMedia(let uuid, let audio, let video): media.mute(uuid, audio: audio, video: video)
        case .closeMedia(let uuid): media.close(uuid)

        // The server.
        case .connect: server.connect()
        case .send(let signal): server.send(signal.frame)
        case .post(let signal, let authorization):
            server.request("POST", "/api/calls/signal", signal.body, authorization) { status, body in
                self.take(.posted(signal.id, Ack.reply(status: status, body: body)))
            }
        case .fetch(let number, let callID, let peer, let since, let authorization):
            server.request("GET", path(of: callID, peer, since), [], authorization) { status, body in
                self.take(.fetched(number, FetchedCall.reply(status: status, body: body)))
            }
        case .renewToken: server.renewToken()
        case .tokenOfAnotherUser(let user): server.disconnect(tokenOf: user)

        // The app's own.
        case .peerRinging(let uuid): screen.playRingback(uuid)
        case .delayed(let uuid, let code): screen.show(uuid, delayedBy: code)
        case .peerMedia(let uuid, let update): screen.show(uuid, peer: update)
        case .receivedDTMF(let uuid, let digits): screen.show(uuid, digits: digits)
        case .receivedInfo(let uuid, let json): screen.show(uuid, json: json)
        }
    }

    private func path(of callID: CallID, _ peer: UserID, _ since: CallClient.Cursor?) -> String {
        var path = "/api/calls/signal/\(callID.text)?device=\(client.configuration.device.text)&peer=\(peer.text)"
        if let since { path += "&epoch=\(since.epoch)&since=\(since.seq)" }
        return path.replacing("+", with: "%2B").replacing("#", with: "%23").replacing("|", with: "%7C")
    }

    /// The user calls somebody; the UUID is that of CallKit's `CXStartCallAction`.
    func call(_ peer: UserID, hasVideo: Bool, uuid: UUID) {
        guard let uuid = CallUUID(uuid.uuidString), let callID = CallID(UUID().uuidString) else { return }
        take(.startCall(CallClient.StartCall(uuid: uuid, callID: callID, to: peer, hasVideo: hasVideo)))
    }

    /// The connection has received a text frame.
    func received(_ frame: [UInt8]) {
        let object = ServerMessage(frame)
        take(.received(object))
        if case .welcome = object { take(.connectionOpened) }
    }

    /// PushKit has delivered a VoIP push.
    func pushed(_ payload: [AnyHashable: Any]) {
        var push: [String: PushValue] = [:]
        for (name, value) in payload {
            guard let name = name as? String else { continue }
            push[name] = PushValue(value)
        }
        take(.pushed(push))
    }

    var hasCalls: Bool { client.calls.contains(where: \.isLive) }
}

extension PushValue {
    /// A value of PushKit's dictionary; a boolean is a number there, and the core takes 1 for true.
    init(_ value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let number as NSNumber: self = .int(number.int64Value)
        case is NSNull: self = .null
        default: self = .other
        }
    }
}

extension CallClient.Authorization {
    /// The value of a request's header `Authorization`.
    func header(token: String) -> String {
        switch self {
        case .token: "Bearer \(token)"
        case .capability(let capability): "Ring \(capability)"
        }
    }
}
