import AVFAudio
import CallClient
import CallCore
import CallKit
import Foundation
import KitFakes
import RinglineKit
import Testing

@testable import RinglineCallKit

@MainActor
@Suite("The audio session", .serialized)
struct AudioTests {
    private let server = FakeServer()
    private let hanako: StubbedDevice
    private let taro: FakeDevice
    private var session: AVAudioSession { .sharedInstance() }

    init() {
        hanako = StubbedDevice("hanako-1", on: server) {
            $0.audioOptions = [.allowBluetooth]
            $0.videoOptions = [.defaultToSpeaker, .allowBluetooth]
        }
        taro = server.add("11", "Taro", FakeSystem())
    }

    private func call(hasVideo: Bool) async throws -> CallUUID {
        taro.launch()
        await server.settle()
        taro.kit?.startCall(to: hanako.device.user, hasVideo: hasVideo)
        await server.settle()
        hanako.launch()
        _ = hanako.deliver(server.push(sentAt: hanako.device.clock.now, ["hasVideo": hasVideo]))
        _ = try hanako.answer()
        return try #require(hanako.device.kit?.calls.first?.uuid)
    }

    @Test("An answered call with video gets the speaker, and one without the earpiece", arguments: [true, false])
    func answer(_ hasVideo: Bool) async throws {
        _ = try await call(hasVideo: hasVideo)
        #expect(session.mode == (hasVideo ? .videoChat : .voiceChat))
        #expect(session.categoryOptions == (hasVideo ? [.defaultToSpeaker, .allowBluetooth] : [.allowBluetooth]))
    }

    @Test("The defaults are the speaker with video, and no options without")
    func defaults() {
        let configuration = CallKitSystem.Configuration()
        #expect(configuration.audioOptions == [] && configuration.videoOptions == [.defaultToSpeaker])
    }

    @Test("Video that either side adds brings the speaker", arguments: [true, false])
    func added(_ isOwn: Bool) async throws {
        let incoming = try await call(hasVideo: false)
        await server.settle()
        #expect(session.mode == .voiceChat)
        if isOwn {
            hanako.device.kit?.addVideo(incoming)
        } else {
            taro.kit?.addVideo(try #require(taro.kit?.calls.first?.uuid))
        }
        await server.settle()
        #expect(session.mode == .videoChat && session.categoryOptions.contains(.defaultToSpeaker))
    }

    @Test("Video of a call that only rings changes nothing for the call that goes on")
    func ringing() async throws {
        _ = try await call(hasVideo: false)
        await server.settle()
        let second = UUID().uuidString
        let change: [AnyHashable: Any] = ["callId": second, "callUUID": second, "fromUserId": "12", "hasVideo": true]
        _ = hanako.deliver(server.push(sentAt: hanako.device.clock.now, change))
        #expect(session.mode == .voiceChat)
    }

    @Test("Nothing is kept about a call that is over, however it ended")
    func over() async throws {
        _ = try await call(hasVideo: true)
        let last = try #require(hanako.incoming.last)
        hanako.system.perform(CXEndCallAction(call: last))
        hanako.system.refusal = .filteredByDoNotDisturb
        let second = UUID().uuidString
        _ = hanako.deliver(server.push(sentAt: hanako.device.clock.now, ["callId": second, "callUUID": second]))
        #expect(hanako.adapter.lines.isEmpty)
    }
}
