import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("A replay")
struct ReplayTests {
    private static let bulk = String(repeating: "x", count: 15_000)

    static func info(_ callID: String, id: String, data: String = bulk) -> String {
        SwitchboardWorld.plain("info", callID, id: id, more: #","data":"\#(data)""#)
    }

    /// Makes calls to user 10 that ring, each with a log of the largest size allowed.
    static func rings(_ count: Int, in world: SwitchboardWorld) throws {
        for number in 0..<count {
            let caller = try world.open("c\(number)", "a")
            world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10"))
            for part in 0..<4 { world.send(caller, info("c-\(number)", id: "\(part)")) }
        }
    }

    @Test("A replay of 24 ringing calls is paced by the connection's pongs, and the last call can be answered")
    func paced() throws {
        let world = SwitchboardWorld { $0.callersPerCallee = 24 }
        try Self.rings(24, in: world)
        let victim = try world.open("10", "b1")
        var frames: [Frame] = []
        var rounds = 0
        while true {
            let slice = world.takeFrames(of: victim)
            guard !slice.isEmpty else { break }
            let bytes = slice.reduce(0) { $0 + $1.description.utf8.count }
            #expect(bytes < world.policy.replaySlice + WireLimits.frameBytes, "at most one slice is under way")
            frames += slice
            rounds += 1
            world.pong(victim)
        }
        #expect(frames.of("offer").count == 24)
        #expect(frames.of("info").count == 24 * 4)
        #expect(rounds > 24 * 60_000 / (2 * world.policy.replaySlice))
        #expect(world.closes[victim] == nil)
        world.send(victim, SwitchboardWorld.answer("c-23"))
        #expect(world.takeFrames(of: victim).ack != nil)
    }

    @Test("A signal has the same bytes in a replay as when it was relayed first, whatever its kind and its id")
    func sameBytes() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        // The welcome differs.
        _ = world.takeFrames(of: callee)
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        for frame in [
            SwitchboardWorld.ice("c-1", id: "plain"), SwitchboardWorld.ice("c-1", id: #"\"\\\u00e4"#),
            #"{"type":"ice","callId":"c-1","candidate":null}"#,
            #"{"type":"ice","callId":"c-1","id":"extra","x":[1,{"y":"\u0041"}],"candidate":{"candidate":"é"},"z":1e3}"#,
            Self.info("c-1", id: "info", data: "x"),
            SwitchboardWorld.plain("dtmf", "c-1", id: "dtmf", more: #","digits":"12#""#),
            SwitchboardWorld.plain("update", "c-1", id: "update", more: #","hold":true"#),
            SwitchboardWorld.plain("update", "c-1", id: "nothing"),
        ] { world.send(caller, frame) }
        let first = world.takeFrames(of: callee).map(\.description)
        #expect(first.count == 9)
        let again = try world.open("10", "b2")
        #expect(world.takeFrames(of: again).map(\.description).suffix(9) == first[...])
    }

    @Test("Entries appended during a replay are sent when the replay reaches them, so that seq only grows")
    func ordered() throws {
        let world = SwitchboardWorld { $0.replaySlice = 1_000 }
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        for number in 0..<20 { world.send(caller, SwitchboardWorld.ice("c-1", id: "\(number)")) }
        let callee = try world.open("10", "b1")
        let first = world.takeFrames(of: callee).of("ice")
        #expect(first.count < 20)
        world.send(caller, SwitchboardWorld.ice("c-1", id: "late"))
        #expect(world.takeFrames(of: callee).isEmpty, "the entry is in the log, and the replay will reach it")
        var seqs = first.map(\.seq)
        for _ in 0..<40 {
            world.pong(callee)
            seqs += world.takeFrames(of: callee).of("ice").map(\.seq)
        }
        #expect(seqs.count == 21)
        #expect(seqs == seqs.sorted())
        world.send(caller, SwitchboardWorld.ice("c-1", id: "live"))
        #expect(world.takeFrames(of: callee).of("ice").count == 1, "the replay is over")
    }

    @Test("A connection that does not confirm its replay is closed as dead, and the call keeps ringing")
    func deadConnection() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        try Self.rings(3, in: world)
        _ = world.takenPushes()
        let victim = try world.open("10", "b1")
        world.wait(3)
        #expect(world.closes[victim] == 1_001)
        #expect(try world.fetched(try principal("10"), "c-2")["state"] == "ringing")
    }

    @Test("A connection that falls silent during its replay is closed too, even if it sent a frame before")
    func deadConnectionInTheMiddle() throws {
        let world = SwitchboardWorld()
        try Self.rings(3, in: world)
        let victim = try world.open("10", "b1")
        world.wait(.milliseconds(500))
        world.pong(victim)
        world.wait(.milliseconds(500))
        world.send(victim, #"{"type":"leave","room":"p2p:10-11"}"#)
        world.wait(3)
        #expect(world.closes[victim] == 1_001)
    }

    @Test("Once its replay is over, a silent connection stays open")
    func nothingOwed() throws {
        let talk = try Talk.answered()
        for number in 0..<8 {
            talk.world.send(talk.caller, Self.info("c-1", id: "i\(number)"))
            talk.world.pong(talk.callee)
        }
        let again = try talk.world.open("10", "b1")
        for _ in 0..<20 { talk.world.pong(again) }
        talk.world.wait(10)
        #expect(talk.world.closes[again] == nil)
    }

    @Test("If a call ends before its replay, only the end is sent")
    func endedMeanwhile() throws {
        let world = SwitchboardWorld()
        try Self.rings(3, in: world)
        let callee = try world.open("10", "b1")
        _ = world.takeFrames(of: callee)
        let request = try world.reply(try principal("c2"), .end(try call("c-2"), device: try device("a")))
        #expect(request.status == 200)
        var frames: [Frame] = []
        for _ in 0..<20 {
            world.pong(callee)
            frames += world.takeFrames(of: callee)
        }
        let last = frames.filter { $0["callId"] == "c-2" }
        #expect(last.types == ["call"])
        #expect(last.first?["state"] == "ended")
    }

    @Test("A replay by sync is paced too, and the ack of the sync comes when the replay is done")
    func sync() throws {
        let talk = try Talk.answered()
        for number in 0..<20 {
            talk.world.send(talk.caller, Self.info("c-1", id: "i\(number)"))
            talk.world.pong(talk.callee)
        }
        talk.clear()
        talk.world.send(talk.callee, #"{"type":"sync","id":"s","calls":{"c-1":0}}"#)
        var frames = talk.world.takeFrames(of: talk.callee)
        #expect(frames.of("info").count < 20)
        #expect(frames.ack == nil)
        for _ in 0..<40 {
            talk.world.pong(talk.callee)
            frames += talk.world.takeFrames(of: talk.callee)
        }
        #expect(frames.of("info").count == 20)
        #expect(frames.last?["id"] == "s")
    }
}

@Suite("A flood")
struct FloodTests {
    /// Sends frames until one is refused; returns the number of bytes accepted, and the error code of the refusal;
    /// `nil` if no frame was refused.
    private func flood(
        _ world: SwitchboardWorld,
        _ sender: SocketID,
        _ frame: (Int) -> String
    ) -> (bytes: Int, code: String?) {
        var bytes = 0
        for number in 0..<400 {
            _ = world.takeFrames(of: sender)
            world.send(sender, frame(number))
            if let code = world.takeFrames(of: sender).code { return (bytes, code) }
            bytes += frame(number).utf8.count
            world.wait(.milliseconds(25))
        }
        return (bytes, nil)
    }

    private let body = String(repeating: "x", count: 8_000)

    @Test("A flood of texts is refused before the addressee's queue is full, and the addressee's connection stays open")
    func texts() throws {
        let world = SwitchboardWorld { $0.probeTimeout = .seconds(60) }
        let addressee = try world.open("10", "b1")
        let sender = try world.open("11", "a1")
        let taken = flood(world, sender) { #"{"type":"message","id":"\#($0)","to":"10","body":"\#(body)"}"# }
        #expect(taken.code == "rate_limited")
        #expect((200_000..<600_000).contains(taken.bytes))
        #expect(world.closes.isEmpty)
        #expect(world.switchboard.metrics.limited[.backlog] == 1)
        #expect(world.switchboard.metrics.backlogged == 1)
        world.pong(addressee)
        world.pong(addressee)
        #expect(world.switchboard.metrics.backlogged == 0)
        world.send(sender, #"{"type":"message","id":"again","to":"10","body":"\#(body)"}"#)
        #expect(world.takeFrames(of: sender).ack != nil, "once the addressee has read, texts are accepted again")
    }

    @Test("A flood of info is refused, while an offer, a candidate and an end still get through")
    func infos() throws {
        let world = SwitchboardWorld { $0.probeTimeout = .seconds(60) }
        let slow = try world.open("10", "b1")
        let sender = try world.open("11", "a1")
        world.send(sender, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(slow, SwitchboardWorld.answer("c-1"))
        let taken = flood(world, sender) {
            SwitchboardWorld.plain("info", "c-1", id: "i\($0)", more: #","data":"\#(body)""#)
        }
        #expect(taken.code == "rate_limited")
        #expect(taken.bytes < 400_000)
        let other = try world.open("12", "d1")
        world.send(other, SwitchboardWorld.offer("c-2", to: "10"))
        world.send(other, SwitchboardWorld.ice("c-2", id: "1"))
        #expect(world.takeFrames(of: slow).filter { $0["callId"] == "c-2" }.types == ["offer", "ice"])
        world.send(sender, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.takeFrames(of: slow).states.contains("ended hangup"))
        #expect(world.closes.isEmpty)
    }

    @Test("A flood of candidates is refused, but the resend of an accepted candidate is acknowledged")
    func candidates() throws {
        let world = SwitchboardWorld {
            $0.probeTimeout = .seconds(60)
            $0.backlogBytes = 20_000
        }
        _ = try world.open("10", "b1")
        let sender = try world.open("11", "a1")
        world.send(sender, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(
            try #require(world.switchboard.connections.of(try user("10")).first?.id),
            SwitchboardWorld.answer("c-1")
        )
        let more = #","candidate":{"candidate":"\#(String(repeating: "c", count: 600))"}"#
        let taken = flood(world, sender) { SwitchboardWorld.plain("ice", "c-1", id: "i\($0)", more: more) }
        #expect(taken.code == "rate_limited")
        #expect(taken.bytes > 2 * 20_000 - 10_000)
        world.send(sender, SwitchboardWorld.plain("ice", "c-1", id: "i3", more: more))
        #expect(world.takeFrames(of: sender).ack?["id"] == "i3")
    }

    @Test("A client that sends frames but no pongs does not count as slow for ever")
    func noPongs() throws {
        let world = SwitchboardWorld { $0.probeTimeout = .seconds(600) }
        let addressee = try world.open("10", "b1")
        let sender = try world.open("11", "a1")
        _ = flood(world, sender) { #"{"type":"message","id":"\#($0)","to":"10","body":"\#(body)"}"# }
        #expect(world.switchboard.metrics.backlogged == 1)
        for _ in 0..<20 {
            world.wait(10)
            world.send(addressee, #"{"type":"leave","room":"p2p:10-11"}"#)
            world.pong(sender)
        }
        #expect(world.switchboard.metrics.backlogged == 0)
        world.give(.closed(addressee))
        #expect(world.switchboard.metrics.backlogged == 0)
    }

    @Test("Ends that name no live call have their own rate limit; the end of a live call always gets through")
    func ends() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        for number in 0..<300 { world.send(caller, SwitchboardWorld.plain("end", "none", id: "n\(number)")) }
        let codes = world.takeFrames(of: caller).of("error").compactMap { $0["code"] }
        #expect(codes.filter { $0 == "not_found" }.count == 200)
        #expect(codes.filter { $0 == "rate_limited" }.count == 100)
        let refused = try world.reply(try principal("11"), .end(try call("none"), device: nil))
        #expect(refused.status == 429)
        #expect(refused.retryAfterSeconds == 1)
        #expect(world.switchboard.metrics.limited[.ends] == 101)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.takeFrames(of: caller).ack?["id"] == "e")
        #expect(world.takeFrames(of: callee).states == ["ended cancelled"])
        for number in 0..<1_000 { world.send(caller, SwitchboardWorld.plain("end", "none", id: "m\(number)")) }
        #expect(world.closes[caller] == 4_429)
    }

    @Test(
        "Ends that name no live call do not hold back an end that names a live call by its peer or room",
        arguments: [#""to":"10""#, #""room":"p2p:11-10""#, #""callId":"c-1","room":"p2p:11-10""#]
    )
    func endsByPeer(_ means: String) throws {
        let world = SwitchboardWorld()
        let other = try world.open("11", "a2")
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "12"))
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", id: "o2"))
        for number in 0..<200 { world.send(other, SwitchboardWorld.plain("end", "none", id: "n\(number)")) }
        world.send(caller, #"{"type":"end","id":"e",\#(means)}"#)
        #expect(world.takeFrames(of: caller).ack?["id"] == "e")
        #expect(world.record("c-1")?.callee == (try user("10")) && world.record("c-1")?.reason == .cancelled)
    }

    @Test("A connection that sends a flood of pongs is closed with 4429; a thousand between two pings are allowed")
    func pongs() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        for _ in 0..<1_000 { world.give(.signOfLife(connection)) }
        #expect(world.switchboard.metrics.limited[.pongs] == 0)
        for _ in 0..<1_000 { world.give(.ponged(connection, 7)) }
        #expect(world.closes[connection] == 4_429)
    }

    @Test("A full group room refuses another member until one leaves")
    func room() throws {
        let world = SwitchboardWorld { $0.connectionsPerRoom = 3 }
        var connections: [SocketID] = []
        for number in 0..<4 {
            var member = try principal("m\(number)")
            member.rooms = ["room:x"]
            connections.append(world.connect(member, device: "d"))
            world.send(connections[number], #"{"type":"join","id":"j","room":"room:x"}"#)
        }
        #expect(world.takeFrames(of: connections[3]).code == "rate_limited")
        #expect(world.switchboard.metrics.limited[.roomMembers] == 1)
        world.send(connections[0], #"{"type":"leave","id":"l","room":"room:x"}"#)
        world.send(connections[3], #"{"type":"join","id":"k","room":"room:x"}"#)
        #expect(world.takeFrames(of: connections[3]).ack?["id"] == "k")
    }
}
