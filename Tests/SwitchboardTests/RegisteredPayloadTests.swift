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
        let reply = try world.reply(try principal("10"), .register(try registration(more)))
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
            try world.reply(try principal("10"), .register(try registration(more))).text
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
}
