import AVFAudio
import CallClient
import CallCore
import CallKit
import Foundation
import Intents
import KitFakes
import PushKit
import RinglineCallKit
import RinglineKit
import Testing

@MainActor
@Suite("Several accounts of one app, with one provider and one registry")
struct AccountTests {
    private let server = FakeServer()
    private let phone: StubbedDevice
    private let hanako: FakeDevice
    private let jiro: FakeDevice
    private let taro: FakeDevice

    init() throws {
        phone = StubbedDevice("phone", on: server)
        let adapter = phone.adapter
        hanako = server.add("10", "phone", adapter.account(for: try #require(UserID("10"))))
        jiro = server.add("20", "phone", adapter.account(for: try #require(UserID("20")), label: "Work"))
        taro = server.add("11", "Taro", FakeSystem())
    }

    private func launch() {
        for device in [hanako, jiro] { device.launch(inForeground: false) { $0.installation = "0123456789abcdef" } }
    }

    private func push(to user: String, _ change: [AnyHashable: Any] = [:]) -> [AnyHashable: Any] {
        let call = UUID().uuidString
        let push = ["callId": call, "callUUID": call, "toUserId": user] as [AnyHashable: Any]
        return server.push(sentAt: phone.device.clock.now, push.merging(change) { $1 })
    }

    private func rings(_ device: FakeDevice) -> Int { device.kit?.calls.count ?? 0 }

    @Test("A push rings in the kit of the user whom it names, under the name and the handle of the account")
    func routed() throws {
        launch()
        for (user, name) in [("10", "Taro"), ("20", "Taro (Work)")] {
            let delivery = phone.deliver(push(to: user))
            #expect(delivery.isComplete && delivery.reports.count == 1)
            guard case .incoming(_, let handle, let shown)? = delivery.reports.first else {
                return #expect(Bool(false), "\(delivery.reports)")
            }
            #expect(handle == "11 · \(user)" && shown == name)
        }
        #expect(rings(hanako) == 1 && rings(jiro) == 1 && phone.system.shown.count == 2)
    }

    @Test("The answer, the mute and the end of a call go to its account, and the audio session to both")
    func actions() async throws {
        launch()
        _ = phone.deliver(push(to: "20"))
        let call = try #require(phone.incoming.last)
        _ = try phone.answer()
        phone.system.perform(CXSetMutedCallAction(call: call, muted: true))
        phone.system.tell { $0.provider($1, didActivate: .sharedInstance()) }
        #expect(jiro.kit?.calls.first?.phase.name == .answering && jiro.kit?.calls.first?.media.audioMuted == true)
        let heardBefore = hanako.heard
        phone.system.perform(CXEndCallAction(call: call))
        #expect(rings(jiro) == 0 && hanako.heard == heardBefore)
        #expect(!hanako.heard.contains { if case .refused = $0 { true } else { false } })
    }

    @Test("A push for an account that was signed out is reported without a name, ended at once, and told to the server")
    func signedOut() async throws {
        launch()
        jiro.kit?.logOut()
        let delivery = phone.deliver(push(to: "20"))
        #expect(delivery.isComplete && delivery.reports.ends == [.failed] && phone.system.shown.isEmpty)
        guard case .incoming(_, "unknown", "unknown")? = delivery.reports.first else {
            return #expect(Bool(false), "\(delivery.reports)")
        }
        #expect(hanako.requests.contains { $0.authorization == "Ring capability" && $0.text.contains("otherUser") })
        hanako.kit?.logOut()
        #expect(phone.deliver(push(to: "20")).reports.ends == [.failed], "nobody is logged in")
    }

    @Test("A second kit on the adapter itself rings for its user alone")
    func own() throws {
        phone.launch()
        jiro.launch(inForeground: false)
        #expect(phone.deliver(push(to: "20")).reports.ends.isEmpty && rings(jiro) == 1)
        #expect(phone.deliver(push(to: "10")).reports.ends.isEmpty && rings(phone.device) == 1)
        #expect(phone.deliver(push(to: "30")).reports.ends == [.failed])
    }

    @Test("Both accounts register the push token, and an account that is added later gets it as well")
    func token() async {
        launch()
        let token = PKPushCredentials(type: .voIP, token: Data([0xab, 0x02]))
        phone.adapter.pushRegistry(phone.registry, didUpdate: token, for: .voIP)
        await server.settle()
        for device in [hanako, jiro] {
            #expect(device.requests.contains { $0.method == "PUT" && $0.text.contains("ab02") })
        }
    }

    @Test("The list of recent calls leads back to the account, and CallKit's start action to its kit")
    func recents() async throws {
        launch()
        let start = CXStartCallAction(call: UUID(), handle: CXHandle(type: .generic, value: "11 · 20"))
        phone.system.perform(start)
        await server.settle()
        #expect(start.isFulfilled == true && rings(jiro) == 1 && rings(hanako) == 0)
        let contact = INPerson(personHandle: INPersonHandle(value: "11 · 20"))
        let activity = NSUserActivity(activityType: "INStartCallIntent")
        activity.interaction = INInteraction(intent: INStartCallIntent(contacts: [contact], callCapability: .audioCall))
        let request = try #require(DialRequest(activity))
        #expect(request.to.text == "11" && request.account?.text == "20")
        hanako.kit?.startCall(request)
        phone.system.performRequested()
        await server.settle()
        #expect(rings(hanako) == 1, "the app chooses the kit")
        #expect(phone.system.requested.isEmpty)
    }

    @Test("A reset ends the calls of all accounts")
    func reset() throws {
        launch()
        _ = phone.deliver(push(to: "10"))
        _ = phone.deliver(push(to: "20"))
        phone.system.tell { delegate, provider in delegate.providerDidReset(provider) }
        #expect(rings(hanako) == 0 && rings(jiro) == 0)
    }
}

extension SignalingRequest {
    /// The body as text.
    fileprivate var text: String { String(decoding: body, as: UTF8.self) }
}
