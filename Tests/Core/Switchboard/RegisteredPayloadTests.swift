import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("What a device registers for the payload of its pushes")
struct RegisteredPayloadTests {
    private func registration(_ more: String, token: String = "apnsDeviceToken") throws -> DeviceRegistration {
        let body = #"{"deviceId":"b1","platform":"ios","bundleId":"com.example.app","\#(token)":"\#(digits)"\#(more)}"#
        return try DeviceRegistration(body: Array(body.utf8), device: nil)
    }

    private let digits = String(repeating: "a1", count: 32)

    /// Returns the payload of the push with which 11 rings 10, whose device has registered this.
    private func payload(_ more: String, policy: ((inout Policy) -> Void)? = nil, offer: String = "") throws -> String {
        let world = SwitchboardWorld { policy?(&$0) }
        let reply = try world.reply(try principal("10"), .devices(.register(try registration(more))))
        #expect(reply.status == 200, "\(reply.text)")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10", more: offer))
        return String(decoding: try #require(world.takenPushes().first).payload, as: UTF8.self)
    }

    @Test("An alert has the sound that its device has registered")
    func sound() throws {
        #expect(try payload("").contains(#""sound":"default""#))
        #expect(try payload(#","sound":"ring \"1\".caf""#).contains(#""sound":"ring \"1\".caf""#))
    }

    @Test("The keys that a device has registered are in its pushes, beside those of the operator")
    func keys() throws {
        let text = try payload(#","payload":{"UUID":"callUUID","data.id":"callId"}"#) { policy in
            var aliases = PayloadAliases()
            // A key that both name keeps the member that the device has registered.
            try? aliases.add("UUID", for: "room")
            try? aliases.add("isVideo", for: "hasVideo")
            policy.payloadAliases["com.example.app"] = aliases
        }
        #expect(text.contains(#""data":{"id":"c-1"}"#) && text.contains(#""isVideo":false"#))
        let payload = Reply(body: Array(text.utf8))
        #expect(payload["UUID"] == payload["callUUID"])
    }

    @Test("Sound and keys stay until the device registers others; an empty object removes the keys")
    func renewal() throws {
        let world = SwitchboardWorld()
        func registered(_ more: String) throws -> String {
            try world.reply(try principal("10"), .devices(.register(try registration(more)))).text
        }
        #expect(try registered("").contains(#""sound":null,"payload":null"#))
        #expect(
            try registered(#","sound":"a.caf","payload":{"k":"room"}"#).contains(
                #""sound":"a.caf","payload":{"k":"room"}"#
            )
        )
        #expect(try registered("").contains(#""sound":"a.caf","payload":{"k":"room"}"#))
        #expect(try registered(#","payload":{}"#).contains(#""sound":"a.caf","payload":null"#))
        #expect(try registered(#","sound":"""#).contains(#""sound":null,"payload":null"#))
    }

    @Test(
        "A malformed sound or key is refused by its name",
        arguments: [
            (#","sound":1"#, "sound: "),
            (#","sound":"\#(String(repeating: "x", count: 65))""#, "sound: "), (#","sound":"a\n""#, "sound: "),
            (#","payload":[]"#, "payload: "), (#","payload":{"aps":"room"}"#, "payload: a key must not begin with aps"),
            (#","payload":{"callId":"room"}"#, "payload: a key must not begin with callId"),
            (#","payload":{"k":"none"}"#, "payload: a key must name one of"),
            (#","payload":{"k":1}"#, "payload: a key must name"),
            (#","payload":{"k":"room","k":"room"}"#, "payload: a key repeats another key, or begins with one"),
            (
                #","payload":{\#((0..<17).map { "\"k\($0)\":\"room\"" }.joined(separator: ","))}"#,
                "is one too many: there may be 16"
            ),
        ]
    )
    func refused(_ more: String, _ message: String) {
        #expect { try registration(more) } throws: { error in
            guard let error = error as? WireError else { return false }
            return error.message.contains(message) && error.code == .invalidField
        }
    }

    @Test(
        "A push says what kind of address the caller's is, as the offer does",
        arguments: [
            ("", "generic"), (#","handleType":"phoneNumber""#, "phoneNumber"),
            (#","handleType":"emailAddress""#, "emailAddress"), (#","handleType":"x""#, "generic"),
            (#","handleType":7"#, "generic"),
        ]
    )
    func handleType(_ more: String, _ type: String) throws {
        #expect(try payload("", offer: more).contains(#""handleType":"\#(type)""#))
    }

    @Test(
        "A push has the offer's handle; in place of one that is too long, or has nothing visible, it has the user id",
        arguments: [
            (#","handle":"+821012345678","handleType":"phoneNumber""#, "+821012345678", "phoneNumber"),
            (#","handle":"taro@example.com""#, "taro@example.com", "generic"),
            (#","handle":"","handleType":"phoneNumber""#, "11", "phoneNumber"),
            (#","handle":7,"handleType":"phoneNumber""#, "11", "phoneNumber"),
            (#","handle":"\#(String(repeating: "1", count: 257))","handleType":"phoneNumber""#, "11", "generic"),
            (#","handle":"a\nb","handleType":"emailAddress""#, "a b", "emailAddress"),
            (#","handle":"\u200b","handleType":"emailAddress""#, "11", "emailAddress"),
        ]
    )
    func handle(_ more: String, _ handle: String, _ type: String) throws {
        let text = try payload("", offer: more)
        #expect(text.contains(#""handle":"\#(handle)","handleType":"\#(type)""#), "\(text)")
        #expect(text.contains(#""callerId":"11""#) && text.contains(#""fromUserId":"11""#))
    }

    @Test(
        "With --caller-name token, no client calls under another address than its user's id",
        arguments: [
            (#","handle":"+821012345678","handleType":"phoneNumber""#, "generic"),
            (#","handle":"11","handleType":"phoneNumber""#, "phoneNumber"),
            (#","handleType":"phoneNumber""#, "phoneNumber"),
        ]
    )
    func tokenHandle(_ more: String, _ type: String) throws {
        let text = try payload("", policy: { $0.callerName = .token }, offer: more)
        #expect(text.contains(#""handle":"11","handleType":"\#(type)""#), "\(text)")
        let world = SwitchboardWorld { $0.callerName = .token }
        let b = try world.open("10", "b1")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10", more: more))
        let offer = try #require(world.takeFrames(of: b).of("offer").first)
        #expect(offer["handle"] == (more.contains(#""11""#) ? "11" : nil))
        #expect(offer["handleType"] == (type == "generic" ? nil : type))
    }

    @Test("With --caller-name token, a service may still set the handle of its call")
    func serviceHandle() throws {
        let world = SwitchboardWorld { $0.callerName = .token }
        try world.register(try principal("10"), "b1")
        var service = try principal("11")
        service.isService = true
        let more = #","handle":"+821012345678","handleType":"phoneNumber""#
        world.send(world.connect(service, device: "a1"), SwitchboardWorld.offer("c-1", to: "10", more: more))
        let push = String(decoding: try #require(world.takenPushes().first).payload, as: UTF8.self)
        #expect(push.contains(#""handle":"+821012345678","handleType":"phoneNumber""#))
    }

    @Test("An app with a notification service extension gets alerts that it may change, until it registers otherwise")
    func mutableContent() throws {
        let mark = #""mutable-content":1"#
        #expect(try !payload("").contains(mark))
        #expect(try payload(#","mutableContent":true"#).contains(mark))
        #expect(try !payload(#","mutableContent":false"#).contains(mark))
        for value in ["\"yes\"", "1", "{}"] {
            #expect(throws: WireError.self) { try registration(#","mutableContent":\#(value)"#) }
        }

        let world = SwitchboardWorld()
        func registered(_ more: String) throws -> String {
            try world.reply(try principal("10"), .devices(.register(try registration(more)))).text
        }
        let shown = #""mutableContent":true"#
        #expect(try registered(#","payload":{"k":"room"},"mutableContent":true"#).contains(shown))
        #expect(try registered("").contains(#""payload":{"k":"room"},"# + shown), "both stay")
        #expect(try registered(#","payload":{}"#).contains(#""payload":null,"# + shown))
        #expect(try !registered(#","mutableContent":false"#).contains("mutableContent"))
    }

    @Test("Alerts of a ring, a missed call, an end and a text may be changed")
    func mutableNotices() throws {
        let world = SwitchboardWorld()
        let reply = try world.reply(
            try principal("10"),
            .devices(.register(try registration(#","mutableContent":true"#)))
        )
        #expect(reply.status == 200)
        let a = try world.open("11", "a1")
        func payloads() -> [String] { world.takenPushes().map { String(decoding: $0.payload, as: UTF8.self) } }
        world.send(a, #"{"type":"message","to":"10","body":"hello"}"#)
        world.send(a, SwitchboardWorld.offer("c-1", to: "10"))
        var all = payloads()
        world.wait(46)
        all += payloads()
        for type in ["message", "call.incoming", "call.missed"] {
            let text = all.first { $0.contains(#""type":"\#(type)""#) } ?? ""
            #expect(text.contains(#""mutable-content":1"#), "\(type): \(all)")
        }
        let call = NoticePayload.Call(id: try call("c-1"), epoch: 1, caller: try user("11"), name: nil, isMutable: true)
        for form in [PushForm.alert, .data, .web] {
            let text = String(decoding: NoticePayload.over(call, .answeredElsewhere, as: form), as: UTF8.self)
            #expect(text.contains("mutable-content") == (form == .alert))
        }
    }

    @Test("The mark is kept with the keys in one text, which an older server reads without it")
    func mutableText() {
        var keys = PayloadAliases(text: "UUID=callUUID aps.mutable-content=1")
        #expect(keys.isMutable && keys.count == 1 && keys.text == "UUID=callUUID aps.mutable-content=1")
        keys.isMutable = false
        #expect(keys.text == "UUID=callUUID")
        #expect(throws: PayloadAliases.Fault.self) { try keys.add("aps.mutable-content", for: "callId") }
    }
}
