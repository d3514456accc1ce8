import AVFAudio
import CallClient
import CallCore
import CallKit
import Foundation
import Intents
import KitFakes
import RinglineCallKit
import RinglineKit
import Testing

@MainActor
@Suite("The user's actions by CallKit")
struct ActionTests {
    private let server = FakeServer()
    private let hanako: StubbedDevice
    private let taro: FakeDevice

    init() {
        hanako = StubbedDevice("hanako-1", on: server)
        taro = server.add("11", "Taro", FakeSystem())
    }

    private func call() async {
        taro.launch()
        await server.settle()
        taro.kit?.startCall(to: hanako.device.user, hasVideo: false)
        await server.settle()
    }

    private func push(_ device: StubbedDevice) {
        #expect(device.deliver(server.push(sentAt: device.device.clock.now)).isComplete)
    }

    @Test("An answer before there is a connection is fulfilled when media flows, and not before")
    func answerFirst() async throws {
        await call()
        hanako.launch()
        push(hanako)
        let action = try hanako.answer()
        #expect(!action.isComplete && hanako.device.socket == nil)
        hanako.device.media.isWorking = false
        await server.settle()
        #expect(!action.isComplete && hanako.device.media.did.contains("make answer"))
        let incoming = try #require(hanako.device.kit?.calls.first?.uuid)
        hanako.device.media.events?(.description(incoming, round: 1, .answer, sdp: "v=0\r\ns=-\r\n"))
        await server.settle()
        #expect(!action.isComplete)
        hanako.device.media.events?(.connected(incoming))
        #expect(action.isFulfilled == true)
        await server.settle()
        #expect(server.types.contains("answer"))
    }

    @Test("With the setting, an answer is fulfilled at once")
    func answerAtOnce() async throws {
        let other = StubbedDevice("hanako-2", on: server, answers: .atOnce)
        await call()
        other.launch()
        push(other)
        #expect(try other.answer().isFulfilled == true)
    }

    @Test("An answer whose media never flows fails when the call ends, and no action stays open")
    func answerFails() async throws {
        await call()
        hanako.launch()
        push(hanako)
        hanako.device.media.isWorking = false
        let action = try hanako.answer()
        await server.settle()
        hanako.device.media.events?(.failed(try #require(hanako.device.kit?.calls.first?.uuid)))
        #expect(action.isFulfilled == false && hanako.system.reports.ends == [.failed])
    }

    @Test("An answer that took too long for CallKit ends the call as failed")
    func answerTimesOut() async throws {
        await call()
        hanako.launch()
        push(hanako)
        hanako.device.media.isWorking = false
        let action = try hanako.answer()
        hanako.system.tell { $0.provider($1, timedOutPerforming: action) }
        #expect(hanako.device.kit?.calls.isEmpty == true)
        #expect(!action.isComplete, "CallKit has taken the action back")
        let ended = try #require(
            hanako.device.heard.compactMap { if case .changed(let call) = $0 { call } else { nil } }.last
        )
        #expect(ended.reason == .failed)
    }

    @Test("A Focus silences one device, and another device of the same user answers")
    func focus() async throws {
        let other = StubbedDevice("hanako-2", on: server)
        await call()
        hanako.launch()
        other.launch()
        hanako.system.refusal = .filteredByDoNotDisturb
        push(hanako)
        await server.settle()
        #expect(!taro.heard.contains { if case .peerRinging = $0 { true } else { false } }, "nothing rings yet")
        #expect(hanako.device.requests.contains { String(decoding: $0.body, as: UTF8.self).contains("focus") })
        push(other)
        await server.settle()
        #expect(taro.heard.contains { if case .peerRinging = $0 { true } else { false } })
        #expect(hanako.system.rings.isEmpty && hanako.device.kit?.calls.isEmpty == true)
        #expect(!server.types.contains("end"), "nothing is declined for the user's other device")
        #expect(Array(other.system.rings.values) == [1])
        let action = try other.answer()
        await server.settle()
        #expect(action.isFulfilled == true && taro.kit?.calls.first?.phase.name == .active)
        #expect(!hanako.device.media.did.contains("make answer"))
    }

    @Test(
        "Each error of a report becomes its reason on the wire",
        arguments: [
            (CXErrorCodeIncomingCallError.Code.filteredByDoNotDisturb, "focus"), (.filteredByBlockList, "blockList"),
            (.callIsProtected, "system"), (.unentitled, "system"), (.unknown, "system"),
        ]
    )
    func reasons(_ code: CXErrorCodeIncomingCallError.Code, _ why: String) async throws {
        await call()
        hanako.launch()
        hanako.system.refusal = code
        push(hanako)
        await server.settle()
        let bodies = hanako.device.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.contains { $0.contains(#""shown":false,"why":"\#(why)""#) }, "\(bodies)")
        #expect(hanako.device.kit?.calls.isEmpty == true)
    }

    @Test("Another device's answer ends the ring here, as answered elsewhere")
    func elsewhere() async throws {
        let other = StubbedDevice("hanako-2", on: server)
        await call()
        for device in [hanako, other] {
            device.launch()
            push(device)
        }
        await server.settle()
        _ = try other.answer()
        await server.settle()
        #expect(hanako.system.reports.ends == [.answeredElsewhere])
    }

    @Test("A reset of the provider ends every call here and for the peer, and fulfils nothing")
    func reset() async throws {
        await call()
        hanako.launch()
        push(hanako)
        hanako.device.media.isWorking = false
        let action = try hanako.answer()
        await server.settle()
        hanako.system.tell { $0.providerDidReset($1) }
        await server.settle()
        #expect(hanako.device.kit?.calls.isEmpty == true && taro.kit?.calls.isEmpty == true)
        #expect(hanako.system.reports.ends.isEmpty, "CallKit has forgotten the call")
        #expect(!action.isComplete)
    }

    @Test("A call of this user is fulfilled at once, connected when media flows, and ended without a report")
    func outgoing() async throws {
        let taroSystem = try #require(taro.system as? FakeSystem)
        taro.launch()
        hanako.launch()
        hanako.device.kit?.isInForeground = true
        await server.settle()
        let call = try #require(hanako.device.kit?.startCall(to: taro.user, hasVideo: true))
        #expect(hanako.device.kit?.calls.isEmpty == true, "the call begins when CallKit says so")
        let start = try #require(hanako.system.requested.first as? CXStartCallAction)
        #expect(start.isVideo && start.handle.value == "11")
        hanako.system.performRequested()
        #expect(start.isFulfilled == true && AVAudioSession.sharedInstance().mode == .videoChat)
        await server.settle()
        taro.kit?.answer(try #require(taroSystem.shown))
        await server.settle()
        hanako.system.tell { $0.provider($1, didActivate: AVAudioSession.sharedInstance()) }
        #expect(hanako.device.media.did.contains("audio on"))
        let uuid = start.callUUID
        #expect(hanako.system.reports == [.connecting(uuid), .connected(uuid)])
        hanako.system.perform(CXSetMutedCallAction(call: uuid, muted: true))
        hanako.system.perform(CXSetHeldCallAction(call: uuid, onHold: true))
        #expect(Array(hanako.device.media.did.suffix(3)) == ["mute", "hold", "audio off"])
        let end = CXEndCallAction(call: uuid)
        hanako.system.perform(end)
        await server.settle()
        #expect(end.isFulfilled == true && hanako.system.reports.ends.isEmpty && taro.kit?.calls.isEmpty == true)
        #expect(hanako.device.kit?.calls.contains { $0.uuid == call } == false)
    }

    @Test("An action that is not possible fails: digits in an unknown call, a group, a handle that is no user")
    func impossible() {
        hanako.launch()
        let digits = CXPlayDTMFCallAction(call: UUID(), digits: "1", type: .singleTone)
        let group = CXSetGroupCallAction(call: UUID(), callUUIDToGroupWith: nil)
        let start = CXStartCallAction(call: UUID(), handle: CXHandle(type: .generic, value: "山田"))
        let oneself = CXStartCallAction(call: UUID(), handle: CXHandle(type: .generic, value: "10"))
        for action in [digits, group, start] {
            hanako.system.perform(action)
            #expect(action.isFulfilled == false)
        }
        hanako.device.kit?.isInForeground = true
        hanako.system.perform(oneself)
        hanako.device.clock.advance(by: .seconds(3))
        #expect(hanako.device.kit?.calls.isEmpty == true)
        #expect(
            hanako.system.reports.ends == [.failed],
            "a call that has waited for the TURN servers is on the screen, and is taken from there"
        )
        let end = CXEndCallAction(call: UUID())
        hanako.system.perform(end)
        #expect(end.isFulfilled == true, "an end always succeeds, or the call would stay on the screen")
    }

    @Test("Siri and the list of recent calls lead to a call")
    func intents() throws {
        let activity = NSUserActivity(activityType: "INStartCallIntent")
        #expect(DialRequest(activity) == nil)
        let person = INPerson(personHandle: INPersonHandle(value: "11"))
        activity.interaction = INInteraction(intent: INStartCallIntent(contacts: [person], callCapability: .videoCall))
        let request = try #require(DialRequest(activity))
        #expect(request == DialRequest(to: taro.user, hasVideo: true))
        hanako.launch()
        hanako.device.kit?.startCall(request)
        #expect((hanako.system.requested.first as? CXStartCallAction)?.handle.value == "11")
    }
}
