import CallCore
import CallPorts
import CallWire
import JSON
import Testing

@testable import Switchboard

extension SwitchboardWorld {
    /// A world whose server keeps events.
    static func reporting(
        _ types: Set<AppEventType> = Set(AppEventType.allCases),
        _ adjust: (inout Policy) -> Void = { _ in }
    ) -> SwitchboardWorld {
        SwitchboardWorld { policy in
            policy.events = EventPolicy(types: types)
            adjust(&policy)
        }
    }

    /// The events of the commits so far, in their order.
    var appEvents: [AppEvent] {
        changes.compactMap { if case .appEvent(let event) = $0 { event } else { nil } }
    }

    /// The types of the events so far.
    var eventTypes: [AppEventType] { appEvents.map(\.type) }

    /// Returns the member `data` of the only event of a type.
    func data(of type: AppEventType) throws -> EventData {
        let found = appEvents.filter { $0.type == type }
        try #require(found.count == 1, "\(eventTypes)")
        return try EventData(found[0].data)
    }
}

/// The member `data` of an event, or an object in it.
struct EventData {
    let object: JSONObject

    init(_ bytes: [UInt8]) throws { object = try JSONObject(bytes) }

    /// A member as it was written; a string comes without its quotes.
    subscript(_ name: String) -> String? {
        guard let member = object.members.first(where: { object.name(of: $0) == name }) else { return nil }
        return object.string(member) ?? String(decoding: object.bytes[member.value], as: UTF8.self)
    }

    /// A member that is an object.
    func object(_ name: String) throws -> EventData {
        let member = try #require(object.members.first { object.name(of: $0) == name })
        return try EventData(Array(object.bytes[member.value]))
    }
}

@Suite("The events of a call for the app's backend")
struct CallEventTests {
    private func plain(_ type: String, _ id: String, more: String = "") -> String {
        SwitchboardWorld.plain(type, "c-1", id: id, more: more)
    }

    /// A call that two connected users begin, answer, talk in and end.
    private func whole(_ world: SwitchboardWorld) throws {
        let talk = try Talk(world)
        world.wait(1)
        world.send(talk.callee, plain("ringing", "r"))
        world.wait(2)
        world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        world.wait(1)
        world.send(talk.callee, plain("connected", "k"))
        world.wait(5)
        world.send(talk.caller, plain("end", "e"))
    }

    @Test("A call from its beginning to its end has five events, numbered from 1, each in the commit of its decision")
    func wholeCall() throws {
        let world = SwitchboardWorld.reporting()
        try whole(world)
        #expect(world.eventTypes == [.callStarted, .callRinging, .callAnswered, .callActive, .callEnded])
        #expect(world.appEvents.map(\.number) == [1, 2, 3, 4, 5])
        #expect(world.appEvents.map(\.position.rawValue) == [1, 2, 3, 4, 5])
        #expect(world.appEvents.allSatisfy { $0.call == world.record("c-1")?.number })
        // The event stands behind the record in the same batch of changes.
        let ended = try #require(world.changes.lastIndex { if case .call = $0 { true } else { false } })
        #expect(world.changes[ended...].contains { if case .appEvent = $0 { true } else { false } })
    }

    @Test("Each event shows the whole call as it was then")
    func contents() throws {
        let world = SwitchboardWorld.reporting()
        try whole(world)
        let start = SwitchboardWorld.start.milliseconds
        let started = try world.data(of: .callStarted).object("call")
        #expect(started["callId"] == "c-1" && started["epoch"] == "1" && started["group"] == "null")
        #expect(started["caller"] == "11" && started["callee"] == "10" && started["state"] == "ringing")
        #expect(started["startedAt"] == "\(start)" && started["ringingAt"] == "null" && started["data"] == "null")
        #expect(try world.data(of: .callRinging)["device"] == "b1")
        let answered = try world.data(of: .callAnswered).object("call")
        #expect(answered["ringingAt"] == "\(start + 1_000)" && answered["answeredAt"] == "\(start + 3_000)")
        #expect(answered["activeAt"] == "null" && answered["state"] == "answered" && answered["reason"] == "null")
        #expect(try answered.object("answeredBy")["device"] == "b1")
        let end = try world.data(of: .callEnded)
        #expect(end["reason"] == "hangup" && end["ringMilliseconds"] == "3000" && end["talkMilliseconds"] == "5000")
        #expect(try end.object("by")["user"] == "11" && end["verdict"] == "null")
        #expect(try end.object("call")["state"] == "ended")
    }

    @Test("The data of an event is written in this order, with every member")
    func bytes() throws {
        let world = SwitchboardWorld.reporting()
        try whole(world)
        let start = SwitchboardWorld.start.milliseconds
        let text = String(decoding: try #require(world.appEvents.last).data, as: UTF8.self)
        let call =
            #"{"callId":"c-1","epoch":1,"caller":"11","callee":"10","group":null,"hasVideo":false,"state":"ended","#
            + #""startedAt":\#(start),"ringingAt":\#(start + 1_000),"answeredAt":\#(start + 3_000),"#
            + #""activeAt":\#(start + 4_000),"endedAt":\#(start + 9_000),"#
            + #""answeredBy":{"user":"10","device":"b1"},"reason":"hangup","data":null}"#
        let end =
            #""reason":"hangup","by":{"user":"11","device":"a1"},"ringMilliseconds":3000,"talkMilliseconds":5000,"#
        #expect(text == #"{"n":5,"call":\#(call),\#(end)"verdict":null}"#)
    }

    @Test("Events of one commit show the call as it was at each of them")
    func oneCommit() throws {
        let world = SwitchboardWorld.reporting()
        let talk = try Talk(world)
        world.send(talk.callee, plain("connected", "k"))
        world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        #expect(world.eventTypes == [.callStarted, .callAnswered, .callActive])
        #expect(try world.data(of: .callAnswered).object("call")["activeAt"] == "null")
    }

    @Test("Without a wish for events there is no event and nothing is counted")
    func off() throws {
        let world = SwitchboardWorld()
        try whole(world)
        #expect(world.appEvents.isEmpty)
        #expect(world.record("c-1")?.events == nil)
    }

    @Test("A type that nobody wants leaves no gap in the numbers")
    func types() throws {
        let world = SwitchboardWorld.reporting([.callStarted, .callEnded])
        try whole(world)
        #expect(world.eventTypes == [.callStarted, .callEnded])
        #expect(world.appEvents.map(\.number) == [1, 2])
    }

    @Test("A signal that comes twice makes no second event")
    func resent() throws {
        let world = SwitchboardWorld.reporting()
        let talk = try Talk(world)
        for _ in 1...2 {
            world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "10"))
            world.send(talk.callee, plain("ringing", "r"))
            world.send(talk.callee, SwitchboardWorld.answer("c-1"))
            world.send(talk.caller, plain("end", "e"))
        }
        #expect(world.eventTypes == [.callStarted, .callRinging, .callAnswered, .callEnded])
    }

    @Test("An offer that is refused has no event")
    func refused() throws {
        let world = SwitchboardWorld.reporting()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "11"))
        world.send(caller, #"{"type":"offer","id":"o","callId":"c-2","to":"10"}"#)
        #expect(world.appEvents.isEmpty)
    }

    @Test("A call goes on with its numbers after a restart, and ends exactly once")
    func restart() throws {
        let world = SwitchboardWorld.reporting()
        let talk = try Talk(world)
        world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        let next = world.restarted(uncleanStarts: 1, { $0.events = EventPolicy() }, after: 5)
        next.wait(60)
        #expect(next.eventTypes == [.callEnded])
        #expect(next.appEvents.map(\.number) == [3])
        #expect(try next.data(of: .callEnded)["reason"] == "disconnected")
        next.wait(3_600)
        #expect(next.eventTypes == [.callEnded])
    }

    @Test("A call that began before anybody wanted events has none")
    func later() throws {
        let world = SwitchboardWorld()
        _ = try Talk.answered(world)
        let next = world.restarted({ $0.events = EventPolicy() }, after: 5)
        next.wait(60)
        #expect(next.appEvents.isEmpty)
    }
}

@Suite("The events of a call that nobody answers")
struct UnansweredEventTests {
    private func ring(_ world: SwitchboardWorld, _ callID: String = "c-1") throws -> SocketID {
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer(callID, to: "10"))
        return caller
    }

    @Test("A callee without a device is unreachable at once, and has missed the call at its end, with the verdict")
    func noDevice() throws {
        let world = SwitchboardWorld.reporting()
        let caller = try ring(world)
        #expect(world.eventTypes == [.callStarted, .callUnreachable])
        #expect(try world.data(of: .callUnreachable)["why"] == "no_device")
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.eventTypes.suffix(2) == [.callEnded, .callMissed])
        #expect(try world.data(of: .callMissed)["why"] == "cancelled")
        let verdict = try #require(try world.data(of: .callEnded)["verdict"])
        #expect(verdict.hasPrefix("[\"") && verdict.contains("no"), "\(verdict)")
    }

    @Test("A callee whose last push is refused is unreachable then, not before and not at the timeout")
    func refusedPushes() throws {
        let world = SwitchboardWorld.reporting()
        try world.register(try principal("10"), "b1", voip: "b1b1")
        try world.register(try principal("10"), "b2", voip: "b2b2")
        _ = try ring(world)
        let pushes = world.takenPushes()
        world.respondToPush(pushes[0], 403, "InvalidProviderToken")
        #expect(!world.eventTypes.contains(.callUnreachable))
        world.wait(3)
        world.respondToPush(pushes[1], 403, "InvalidProviderToken")
        #expect(try world.data(of: .callUnreachable)["why"] == "pushes_refused")
        world.wait(60)
        #expect(try world.data(of: .callMissed)["why"] == "unanswered")
        #expect(world.eventTypes.filter { $0 == .callUnreachable }.count == 1)
        #expect(world.eventTypes.filter { $0 == .pushRefused }.count == 1, "once an hour")
    }

    @Test("A callee with a connection or an accepted push is reachable")
    func reachable() throws {
        let world = SwitchboardWorld.reporting()
        try world.register(try principal("10"), "b1", voip: "b1b1")
        _ = try ring(world)
        for push in world.takenPushes() { world.respondToPush(push, 200) }
        world.wait(60)
        #expect(!world.eventTypes.contains(.callUnreachable))
        let connected = SwitchboardWorld.reporting()
        _ = try Talk(connected)
        connected.wait(60)
        #expect(!connected.eventTypes.contains(.callUnreachable))
    }

    @Test("A callee whose only connection ends is unreachable, unless its device rings")
    func gone() throws {
        for rings in [false, true] {
            let world = SwitchboardWorld.reporting()
            let talk = try Talk(world)
            if rings { world.send(talk.callee, SwitchboardWorld.plain("ringing", "c-1", id: "r")) }
            world.give(.closed(talk.callee))
            #expect(world.eventTypes.contains(.callUnreachable) != rings)
        }
    }

    @Test("A callee all of whose devices are silenced is unreachable")
    func silenced() throws {
        let world = SwitchboardWorld.reporting()
        let talk = try Talk(world)
        let report = SwitchboardWorld.plain("ringing", "c-1", id: "s", more: #","shown":false,"why":"focus""#)
        world.send(talk.callee, report)
        #expect(try world.data(of: .callUnreachable)["why"] == "silenced", "\(world.takeFrames(of: talk.callee))")
    }

    @Test("A call that a block or do-not-disturb hides has been missed for that reason")
    func hidden() throws {
        let blocking = SwitchboardWorld.reporting()
        _ = try blocking.reply(try principal("10"), .blocks(.block(try user("11"))))
        _ = try ring(blocking)
        blocking.wait(60)
        #expect(try blocking.data(of: .callMissed)["why"] == "blocked")
        #expect(try blocking.data(of: .callUnreachable)["why"] == "blocked")
        let quiet = SwitchboardWorld.reporting()
        _ = try quiet.reply(
            try principal("10"),
            .blocks(.doNotDisturb(until: SwitchboardWorld.start + .seconds(600)))
        )
        _ = try ring(quiet)
        quiet.wait(60)
        #expect(try quiet.data(of: .callMissed)["why"] == "dnd")
    }

    @Test("A declined call was not missed")
    func declined() throws {
        let world = SwitchboardWorld.reporting()
        let talk = try Talk(world)
        world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e", more: #","reason":"declined""#))
        #expect(world.eventTypes == [.callStarted, .callEnded])
        #expect(try world.data(of: .callEnded).object("by")["user"] == "10")
    }
}

@Suite("The events of devices")
struct DeviceEventTests {
    @Test("A device is reported when it is new or has another token, not each time that its app registers it")
    func registered() throws {
        let world = SwitchboardWorld.reporting()
        for token in ["b1b1", "b1b1", "b2b2"] { try world.register(try principal("10"), "b1", voip: token) }
        #expect(world.eventTypes == [.deviceRegistered, .deviceRegistered])
        #expect(world.appEvents.allSatisfy { $0.user?.text == "10" && $0.call == nil && $0.number == 0 })
        for event in world.appEvents { #expect(!String(decoding: event.data, as: UTF8.self).contains("b1b1")) }
    }

    @Test("A device that is removed is reported, with the reason")
    func removed() throws {
        let world = SwitchboardWorld.reporting([.deviceRemoved])
        try world.register(try principal("10"), "b1", voip: "b1b1")
        _ = try world.reply(try principal("10"), .devices(.remove(try device("b1"))))
        #expect(try world.data(of: .deviceRemoved)["why"] == "logged_out")
    }

    @Test("A token that APNs no longer knows is unregistered, and one that another device has registered is taken over")
    func tokens() throws {
        let world = SwitchboardWorld.reporting([.deviceRemoved])
        try world.register(try principal("10"), "b1", voip: "b1b1")
        try world.register(try principal("12"), "d1", voip: "b1b1")
        #expect(try world.data(of: .deviceRemoved)["why"] == "taken_over")
        #expect(try world.data(of: .deviceRemoved).object("device")["user"] == "10")
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "12"))
        let push = try #require(world.takenPushes().first)
        world.respondToPush(push, 410, "Unregistered", at: world.now)
        let last = try #require(world.appEvents.last)
        #expect(try EventData(last.data)["why"] == "unregistered")
    }
}
