import CallCore
import CallWire
import Testing

@testable import Switchboard

@Suite("A member with an unknown name")
struct UnknownNameTests {
    private func names(_ world: SwitchboardWorld) -> [String] {
        world.notes.compactMap { note in
            if case .unknownName(let name, let place) = note { "\(place.rawValue) \(name)" } else { nil }
        }
    }

    @Test("It is counted each time, and reported once, by the place where it came")
    func once() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        for id in ["a", "b"] {
            let more = #","displayname":"x","handle":"y""#
            world.send(connection, SwitchboardWorld.offer("c-\(id)", to: "10", id: id, more: more))
        }
        world.send(connection, #"{"type":"presence","id":"p","userId":"10","rooom":1}"#)
        let body = #"{"action":"info","callId":"c-b","too":1,"data":{"data":1,"displayname":2}}"#
        #expect(try world.post(try principal("11"), body).status == 200)
        let registration =
            #"{"voipToken":"x","fcm_token":"f","to":"10","platform":"android","installation":"0123456789abcdef"}"#
        #expect(
            try world.reply(
                try principal("10"),
                .devices(.register(try DeviceRegistration(body: Array(registration.utf8), device: nil)))
            ).status == 200
        )
        #expect(
            names(world) == [
                "ws displayname", "ws rooom", "signal too", "signal displayname", "registration voipToken",
                "registration to",
            ]
        )
        let counts = world.switchboard.metrics.unknownNames
        #expect(counts[.webSocket] == 3 && counts[.signal] == 2 && counts[.registration] == 2 && counts[.socketIO] == 0)
    }

    @Test("No more than 256 words are kept and reported, and a name that is no word is only counted")
    func bounded() throws {
        let world = SwitchboardWorld { $0.signalsPerSecond = 10_000 }
        let connection = try world.open("11", "a1")
        let noWords = [
            String(repeating: "n", count: 33), "Bearer a", "a=b", "名前", "192.0.2.1:5060", "192.0.2.1", "821012345678",
            "_", "",
        ]
        for name in noWords {
            world.send(connection, #"{"type":"presence","id":"p","userId":"10","\#(name)":1}"#)
        }
        #expect(names(world).isEmpty)
        for number in 0..<300 {
            world.send(connection, #"{"type":"presence","id":"p","userId":"10","x\#(number)":1}"#)
        }
        #expect(names(world) == (0..<256).map { "ws x\($0)" })
        #expect(world.switchboard.metrics.unknownNames[.webSocket] == UInt64(300 + noWords.count))
    }
}
