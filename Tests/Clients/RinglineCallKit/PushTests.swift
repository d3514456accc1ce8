import CallClient
import CallCore
import CallKit
import Foundation
import KitFakes
import PushKit
import RinglineCallKit
import RinglineKit
import Testing

@MainActor
@Suite("A VoIP push is reported before PushKit's method returns")
struct PushTests {
    private let server = FakeServer()
    private let hanako: StubbedDevice
    private let caller: FakeDevice

    init() {
        hanako = StubbedDevice("hanako-1", on: server)
        caller = server.add("11", "Taro", FakeSystem())
    }

    /// Has the caller call, so that the server has a call.
    private func call() async {
        caller.launch()
        await server.settle()
        caller.kit?.startCall(to: hanako.device.user, hasVideo: false)
        await server.settle()
    }

    private var push: [AnyHashable: Any] { server.push(sentAt: hanako.device.clock.now) }

    @Test(
        "A good push rings once, by either of PushKit's methods, also if the system demands no report",
        arguments: [StubbedDevice.Method.old, .new(mustReport: true), .new(mustReport: false)]
    )
    func good(_ method: StubbedDevice.Method) async throws {
        await call()
        hanako.launch()
        let delivery = hanako.deliver(push, by: method)
        #expect(delivery.reports.hasIncoming && delivery.isComplete && delivery.reports.ends.isEmpty)
        guard case .incoming(_, "11", "Taro") = delivery.reports.first else {
            return #expect(Bool(false), "\(delivery.reports)")
        }
        #expect(Array(hanako.system.rings.values) == [1])
    }

    @Test("A repeated push is reported again under the same UUID, and rings no second time")
    func repeated() async throws {
        await call()
        hanako.launch()
        for _ in 0..<3 {
            let delivery = hanako.deliver(push)
            #expect(delivery.reports.hasIncoming && delivery.isComplete)
        }
        await server.settle()
        #expect(Set(hanako.incoming).count == 1 && Array(hanako.system.rings.values) == [1])
        #expect(hanako.device.kit?.calls.count == 1, "the error \"UUID exists\" ends nothing")
    }

    @Test("A push for a call that came by the connection rings no second time")
    func afterConnection() async throws {
        hanako.launch()
        hanako.device.kit?.isInForeground = true
        await server.settle()
        await call()
        #expect(Array(hanako.system.rings.values) == [1])
        let delivery = hanako.deliver(push)
        #expect(delivery.reports.hasIncoming && delivery.isComplete)
        #expect(Array(hanako.system.rings.values) == [1])
    }

    @Test(
        "A broken push is reported, and its call ended at once",
        arguments: [
            "{}", #"{"nonsense":1}"#, #"{"type":"call.other","callId":"c-1"}"#,
            #"{"callId":["c-1"],"fromUserId":"11"}"#,
            #"{"callId":"c 1","fromUserId":"11","epoch":"x"}"#, #"{"callId":"c-1","fromUserId":"10"}"#,
            #"{"aps":null,"callId":{},"epoch":-1,"ringUntil":1e300}"#,
        ]
    )
    func broken(_ json: String) throws {
        hanako.launch()
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        let delivery = hanako.deliver(try #require(object))
        #expect(delivery.reports.hasIncoming && delivery.isComplete)
        #expect(delivery.reports.ends == [.failed] && hanako.system.shown.isEmpty)
    }

    @Test("A dictionary with keys and values of every kind is reported")
    func strange() {
        hanako.launch()
        let delivery = hanako.deliver([1: "a", "callId": NSNull(), "epoch": 1.5, "hasVideo": true, "x": Data([1])])
        #expect(delivery.reports.hasIncoming && delivery.isComplete)
    }

    @Test("A late push is reported, and its call ended as unanswered")
    func late() async {
        await call()
        hanako.launch()
        let sent = hanako.device.clock.now.milliseconds - 100_000
        let delivery = hanako.deliver(push.merging(["sentAt": Int(sent), "ringUntil": Int(sent) + 45_000]) { $1 })
        #expect(delivery.reports.hasIncoming && delivery.isComplete && delivery.reports.ends == [.unanswered])
    }

    @Test(
        "A push that crosses the same user's own call is reported under the UUID of that call, and nothing rings",
        arguments: ["00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"]
    )
    func crossing(_ other: String) async throws {
        hanako.launch()
        hanako.device.kit?.isInForeground = true
        await server.settle()
        let own = UUID()
        hanako.system.perform(CXStartCallAction(call: own, handle: CXHandle(type: .generic, value: "11")))
        await server.settle()
        let now = hanako.device.clock.now
        let delivery = hanako.deliver(server.push(sentAt: now, ["callId": other, "callUUID": other]))
        #expect(delivery.reports.hasIncoming && delivery.isComplete)
        #expect(hanako.incoming == [own], "the user sees one call")
        #expect(hanako.system.rings.isEmpty)
    }

    @Test("A push for a third call is reported, and the call ended, for there is room for two")
    func full() {
        hanako.launch()
        let now = hanako.device.clock.now
        for number in 1...3 {
            let change: [AnyHashable: Any] = [
                "callId": "c-\(number)", "callUUID": UUID().uuidString, "fromUserId": "2\(number)",
            ]
            let delivery = hanako.deliver(server.push(sentAt: now, change))
            #expect(delivery.reports.hasIncoming && delivery.isComplete)
            #expect(delivery.reports.ends == (number == 3 ? [.remoteEnded] : []))
        }
        #expect(hanako.system.shown.count == 2)
    }

    @Test("The push of a scheduled call rings with its handle, and its answer is fulfilled at once, without media")
    func scheduled() throws {
        hanako.launch()
        let change: [AnyHashable: Any] = [
            "callId": "c-1", "callUUID": UUID().uuidString, "fromUserId": "wake", "fromDisplayName": "Mina",
            "handle": "+821012345678", "handleType": "phoneNumber", "scheduled": true,
            "data": ["sounds": ["birds", 1] as [Any]] as [String: Any],
        ]
        let delivery = hanako.deliver(server.push(sentAt: hanako.device.clock.now, change))
        #expect(delivery.reports.hasIncoming && delivery.isComplete)
        let handle = try #require(hanako.incoming.last.flatMap { hanako.system.handles[$0] })
        #expect(handle.type == .phoneNumber && handle.value == "+821012345678")
        #expect(hanako.device.kit?.calls.first?.data == #"{"sounds":["birds",1]}"#)
        #expect(try hanako.answer().isFulfilled == true)
        #expect(hanako.device.media.did.allSatisfy { $0 == "servers" })
    }

    @Test(
        "A push while nobody is logged in is reported without a name, ended at once, and told to the server",
        arguments: [false, true]
    )
    func nobody(_ hasLoggedOut: Bool) async throws {
        await call()
        let requests = caller
        let phone = StubbedDevice("hanako-2", on: server) { ($0.server, $0.requests) = (FakeServer.address, requests) }
        if hasLoggedOut {
            phone.launch()
            phone.device.kit?.logOut()
        }
        let before = requests.requests.count
        let delivery = phone.deliver(push)
        #expect(delivery.isComplete && delivery.reports.ends == [.failed] && phone.system.shown.isEmpty)
        guard case .incoming(_, "unknown", nil)? = delivery.reports.first else {
            return #expect(Bool(false), "\(delivery.reports)")
        }
        let told = try #require(requests.requests.dropFirst(before).first)
        #expect(told.method == "POST" && told.url == "\(FakeServer.address.absoluteString)/api/calls/signal")
        #expect(told.authorization == "Ring capability")
        let body = String(decoding: told.body, as: UTF8.self)
        let call = try #require(push["callId"] as? String)
        for part in [
            #""action":"ringing""#, #""callId":"\#(call)""#, #""epoch":1"#, #""shown":false"#, #""why":"otherUser""#,
        ] { #expect(body.contains(part), "\(body)") }
    }

    @Test("A push while nobody is logged in is told to no server if it names no call, or no server is known")
    func nobodyToTell() async {
        await call()
        let requests = caller
        let phone = StubbedDevice("hanako-2", on: server) { ($0.server, $0.requests) = (FakeServer.address, requests) }
        let before = requests.requests.count
        for name in ["callId", "act"] {
            let delivery = phone.deliver(push.filter { $0.key as? String != name })
            #expect(delivery.isComplete && delivery.reports.ends == [.failed])
        }
        #expect(hanako.deliver(push).reports.ends == [.failed])
        #expect(requests.requests.count == before)
    }

    @Test(
        "PushKit's completion handler is called when CallKit has answered the push's last report, on any thread",
        .timeLimit(.minutes(1))
    )
    func completion() async {
        await call()
        hanako.launch()
        hanako.system.answersLater = true
        let flag = Flag()
        let payload = PKPushPayload(type: .voIP, dictionaryPayload: push)
        hanako.adapter.pushRegistry(hanako.registry, didReceiveIncomingPushWith: payload, for: .voIP) { flag.set() }
        #expect(!flag.isSet && hanako.system.reports.hasIncoming)
        hanako.system.answerReports(elsewhere: true)
        await flag.wait()
        #expect(flag.isSet)
    }

    @Test("PushKit's completion handler is also called when CallKit answers with an error")
    func completionAfterAnError() async {
        await call()
        hanako.launch()
        for code in [CXErrorCodeIncomingCallError.Code.unentitled, .filteredByBlockList, .callIsProtected, .unknown] {
            hanako.system.refusal = code
            #expect(hanako.deliver(push).isComplete)
        }
    }

    @Test("A simulated call takes the same way as a push, and ends as failed, for the server knows no such call")
    func simulated() async throws {
        hanako.launch()
        let flag = Flag()
        hanako.adapter.simulateIncomingCall(from: "11", name: "Taro", to: "10") { flag.set() }
        #expect(flag.isSet && hanako.system.reports.hasIncoming && hanako.system.shown.count == 1)
        for _ in 0..<60 {
            await server.settle()
            hanako.device.clock.advance(by: .seconds(1))
        }
        #expect(hanako.system.shown.isEmpty && hanako.device.kit?.calls.isEmpty == true)
    }

    @Test(
        "A simulated call of a schedule has its data, and is answered at once, without media",
        arguments: [true, false]
    )
    func simulatedSchedule(_ isJSON: Bool) throws {
        hanako.launch()
        let data = isJSON ? #"{"voice":["a",1]}"# : "{"
        hanako.adapter.simulateIncomingCall(from: "wake", name: "Mina", to: "10", scheduled: true, data: data)
        let call = try #require(hanako.device.kit?.calls.first)
        #expect(call.isScheduled && call.data == (isJSON ? data : nil) && hanako.system.shown.count == 1)
        #expect(try hanako.answer().isFulfilled == true)
        #expect(hanako.device.media.did.allSatisfy { $0 == "servers" })
    }

    @Test("A simulated call that no schedule makes has no data")
    func simulatedWithoutSchedule() throws {
        hanako.launch()
        hanako.adapter.simulateIncomingCall(from: "11", to: "10", data: #"{"voice":"a"}"#)
        let call = try #require(hanako.device.kit?.calls.first)
        #expect(!call.isScheduled && call.data == nil)
    }

    @Test("The VoIP token reaches the server, also one that PushKit had before the kit was made")
    func token() async throws {
        hanako.adapter.pushRegistry(
            hanako.registry,
            didUpdate: PKPushCredentials(type: .voIP, token: Data([0xab, 0x01])),
            for: .voIP
        )
        hanako.launch()
        hanako.adapter.pushRegistry(
            hanako.registry,
            didUpdate: PKPushCredentials(type: .voIP, token: Data([0xab, 0x02])),
            for: .voIP
        )
        await server.settle()
        let upload = try #require(hanako.device.requests.last { $0.method == "PUT" })
        #expect(String(decoding: upload.body, as: UTF8.self).contains(#""voipDeviceToken":"ab02""#))
        hanako.adapter.pushRegistry(hanako.registry, didInvalidatePushTokenFor: .voIP)
        await server.settle()
        #expect(hanako.device.paths.contains("DELETE /api/me/devices/hanako-1"))
    }
}
