import CallClient
import CallCore
import KitFakes
import RinglineKit
import Testing

@MainActor
@Suite("The kit in a call")
struct CallTests {
    private let server = FakeServer()
    private let taroSystem = FakeSystem()
    private let hanakoSystem = FakeSystem()
    private var taro: FakeDevice { devices.taro }
    private var hanako: FakeDevice { devices.hanako }
    private let devices: (taro: FakeDevice, hanako: FakeDevice)

    init() {
        devices = (server.add("11", "Taro", taroSystem), server.add("10", "hanako-1", hanakoSystem))
    }

    private func callHanako() async throws -> CallUUID {
        let kit = try #require(taro.kit)
        let call = try #require(kit.startCall(to: hanako.user, hasVideo: false))
        await server.settle()
        return call
    }

    @Test("Two kits set up a call over their ports, and one of them ends it for both")
    func call() async throws {
        taro.launch()
        hanako.launch()
        await server.settle()
        let call = try await callHanako()
        #expect(hanakoSystem.did == ["incoming Taro"])
        #expect(taro.heard.contains(.peerRinging(call)))

        let incoming = try hanakoSystem.call
        hanako.kit?.answer(incoming)
        await server.settle()
        #expect(taroSystem.did == ["connecting out", "connected out"])
        #expect(hanakoSystem.did == ["incoming Taro", "connecting", "connected"])
        #expect(taro.media.did.contains("set answer") && taro.media.did.contains("add candidate"))
        #expect(hanako.media.did.contains("set offer") && hanako.media.did.contains("add candidate"))

        taro.kit?.end(call)
        await server.settle()
        #expect(taro.media.did.last == "close" && hanako.media.did.last == "close")
        #expect(hanakoSystem.did.last == "ended remoteEnded")
        #expect(taro.kit?.calls.isEmpty == true && hanako.kit?.calls.isEmpty == true)
    }

    @Test("Outputs are carried out in the order in which the core gives them, also when one leads to a further input")
    func order() async throws {
        taro.launch()
        hanako.launch()
        await server.settle()
        _ = try await callHanako()
        hanako.kit?.answer(try hanakoSystem.call)
        await server.settle()
        let steps = ["servers", "set offer", "add candidate", "make answer"]
        #expect(hanako.media.did.filter { steps.contains($0) } == steps)
    }

    @Test("Events wait until somebody reads them: a cold start answers before the app has a screen")
    func coldStart() async throws {
        taro.launch()
        await server.settle()
        _ = try await callHanako()
        hanako.launch(inForeground: false, readsEvents: false)
        hanakoSystem.events?(
            .input(.pushed(["callId": .string(callID), "fromUserId": .string("11"), "epoch": .int(1)]))
        )
        hanakoSystem.events?(.input(.answer(try hanakoSystem.call)))
        await server.settle()
        #expect(hanakoSystem.did.contains("connected"))

        var heard: [CallClient.Phase.Name] = []
        hanako.kit?.onEvent = { event in if case .changed(let call) = event { heard.append(call.phase.name) } }
        #expect(heard.first == .ringing && heard.contains(.answering) && heard.contains(.active), "\(heard)")
        #expect(hanako.media.did.contains("make answer"))
    }

    @Test("At most 512 events are kept, and the newest are among them")
    func keptEvents() async throws {
        taro.launch()
        hanako.launch(readsEvents: false)
        await server.settle()
        _ = try await callHanako()
        let incoming = try hanakoSystem.call
        hanako.kit?.answer(incoming)
        await server.settle()
        for turn in 0..<600 {
            hanako.kit?.setMuted(incoming, turn.isMultiple(of: 2))
            // With many signals that wait for an ack, each further one takes longer.
            if turn.isMultiple(of: 20) { await server.settle() }
        }
        var heard: [RinglineEvent] = []
        hanako.kit?.onEvent = { heard.append($0) }
        #expect(heard.count == 512)
        guard case .changed(let call) = heard.last else { return #expect(Bool(false), "the last event is a change") }
        #expect(call.media.audioMuted == false)
    }

    @Test("The peer's hold, digits and data reach the screens, and a user's own end is told once")
    func events() async throws {
        taro.launch()
        hanako.launch()
        await server.settle()
        let call = try await callHanako()
        let incoming = try hanakoSystem.call
        hanako.kit?.answer(incoming)
        await server.settle()
        taro.kit?.setHeld(call, true)
        taro.kit?.playDTMF(call, "1#")
        taro.kit?.sendInfo(call, #"{"a":1}"#)
        await server.settle()
        #expect(hanako.heard.contains(.digits(incoming, "1#")) && hanako.heard.contains(.info(incoming, #"{"a":1}"#)))
        #expect(hanako.kit?.calls.first?.peerMedia.hold == true)
        #expect(taro.media.did.contains("hold"))
        taro.kit?.end(call)
        await server.settle()
        let ends = taro.heard.filter { if case .changed(let call) = $0 { !call.isLive } else { false } }
        #expect(ends.count == 1)
    }

    @Test("A change of the network's path makes a new connection, and restarts ICE in an answered call")
    func pathChange() async throws {
        taro.launch()
        hanako.launch()
        await server.settle()
        _ = try await callHanako()
        hanako.kit?.answer(try hanakoSystem.call)
        await server.settle()
        let before = taro.sockets.count
        taro.kit?.pathChanged()
        await server.settle()
        #expect(taro.sockets.count == before + 1 && taro.sockets[before - 1].isClosed)
        #expect(taro.media.did.contains("restart"))
        #expect(taro.kit?.calls.first?.isAnswered == true, "the call goes on")
    }

    @Test("A media engine that lost its path gets another exchange of candidates")
    func interrupted() async throws {
        taro.launch()
        hanako.launch()
        await server.settle()
        let call = try await callHanako()
        hanako.kit?.answer(try hanakoSystem.call)
        await server.settle()
        taro.media.events?(.interrupted(call))
        await server.settle()
        #expect(taro.media.did.contains("restart") && hanako.media.did.count { $0 == "set offer" } == 2)
    }

    @Test("A later description that the engine refuses does not end the call")
    func negotiationFailed() async throws {
        taro.launch()
        hanako.launch()
        await server.settle()
        let call = try await callHanako()
        hanako.kit?.answer(try hanakoSystem.call)
        await server.settle()
        taro.media.events?(.interrupted(call))
        taro.media.events?(.refused(call, round: 2))
        await server.settle()
        #expect(taro.kit?.calls.first?.isAnswered == true && hanako.kit?.calls.first?.isAnswered == true)
        #expect(taro.media.did.contains("rollback"))
    }

    @Test("A scheduled call rings, is answered without the media engine, and ends when the user confirms it")
    func scheduled() async throws {
        hanako.launch()
        await server.settle()
        server.beginScheduled("6f9619ff-8b86-4d01-b42d-00cf4fc964f0", data: ["sound": "birds"])
        await server.settle()
        let call = try hanakoSystem.call
        #expect(hanakoSystem.did == ["incoming Mina"] && server.types == ["offer", "ringing"])
        let shown = try #require(hanako.kit?.calls.first)
        #expect(shown.isScheduled && shown.schedule?.text == "s-1" && shown.data == #"{"sound":"birds"}"#)
        #expect(shown.displayedPeer.handle == "+821012345678")
        hanako.kit?.answer(call)
        await server.settle()
        #expect(hanakoSystem.did == ["incoming Mina", "connecting", "connected"])
        #expect(server.types == ["offer", "ringing", "answer", "call", "connected"])
        hanako.kit?.pathChanged()
        hanako.kit?.confirm(call)
        await server.settle()
        #expect(hanakoSystem.did.last == "ended remoteEnded" && hanako.kit?.calls.isEmpty == true)
        #expect(server.reason == "confirmed")
        #expect(hanako.media.did.allSatisfy { $0 == "servers" }, "\(hanako.media.did)")
        #expect(!hanako.heard.contains { if case .refused = $0 { true } else { false } }, "a new path is no refusal")
    }

    @Test("The data of a scheduled call that comes after the push is an event")
    func scheduledLater() async throws {
        server.beginScheduled("6f9619ff-8b86-4d01-b42d-00cf4fc964f0", data: 7)
        hanako.launch(inForeground: false)
        hanakoSystem.events?(
            .input(
                .pushed([
                    "callId": .string(callID), "fromUserId": .string("11"), "epoch": .int(1), "scheduled": .bool(true),
                ])
            )
        )
        hanakoSystem.events?(.input(.answer(try hanakoSystem.call)))
        await server.settle()
        let data = hanako.heard.compactMap { if case .changed(let call) = $0 { call.data ?? "none" } else { nil } }
        #expect(data.first == "none" && data.last == "7", "\(data)")
        #expect(hanakoSystem.did.contains("connected") && server.types.contains("connected"))
    }

    private var callID: String { server.log.first?["callId"] as? String ?? "" }
}

extension FakeSystem {
    /// The call that is shown.
    var call: CallUUID { get throws { try #require(shown) } }
}
