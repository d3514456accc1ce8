import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Waiting for the store")
struct CommitTests {
    @Test("An ack waits for the commit, and the relayed signal does not")
    func ack() throws {
        let talk = try Talk.answered()
        talk.clear()
        talk.world.holdsCommits = true
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(talk.world.takeFrames(of: talk.callee).types == ["ice"])
        #expect(talk.world.takeFrames(of: talk.caller).isEmpty)
        talk.world.commit()
        #expect(talk.world.takeFrames(of: talk.caller).types == ["ack"])
    }

    @Test("The ack of a repeated signal waits until the signal's first copy is durable")
    func repeated() throws {
        let talk = try Talk.answered()
        talk.clear()
        talk.world.holdsCommits = true
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(talk.world.takeFrames(of: talk.callee).count == 1)
        #expect(talk.world.takeFrames(of: talk.caller).isEmpty)
        talk.world.commit()
        let acks = talk.world.takeFrames(of: talk.caller)
        #expect(acks.types == ["ack", "ack"])
        #expect(acks[0].seq == acks[1].seq)
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(talk.world.takeFrames(of: talk.caller).types == ["ack"], "it was durable already")
    }

    @Test("Each ack waits for its own commit, and the acks keep their order")
    func order() throws {
        let talk = try Talk.answered()
        talk.clear()
        talk.world.holdsCommits = true
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i1"))
        let first = try #require(talk.world.heldTickets.last)
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i2"))
        talk.world.give(.stored(.committed(upTo: first)))
        #expect(talk.world.takeFrames(of: talk.caller).map { $0["id"] } == ["i1"])
        talk.world.commit()
        #expect(talk.world.takeFrames(of: talk.caller).map { $0["id"] } == ["i2"])
        talk.world.give(.stored(.committed(upTo: first)))
        #expect(talk.world.takeFrames(of: talk.caller).isEmpty)
    }

    @Test("The response to a request waits for the commit too")
    func reply() throws {
        let talk = try Talk()
        talk.world.holdsCommits = true
        let message = try SignalMessage(
            body: Array(#"{"action":"ringing","callId":"c-1","deviceId":"b1"}"#.utf8),
            callIDInPath: nil,
            ringTimeout: .seconds(45)
        )
        let id = talk.world.request(try principal("10"), .signal(message))
        #expect(talk.world.replies[id] == nil)
        talk.world.commit()
        #expect(talk.world.replies[id]?["seq"] == "3")
        #expect(talk.world.replies[id]?["state"] == "ringing")
    }

    @Test("The changes of one turn go into one commit, which contains a call's record once, before the call's entries")
    func batch() throws {
        let talk = try Talk()
        talk.world.holdsCommits = true
        let before = talk.world.changes.count
        var outputs: [Switchboard.Output] = []
        for index in 0..<10 {
            let frame = Array(SwitchboardWorld.plain("update", "c-1", id: "u\(index)", more: #","hold":true"#).utf8)
            talk.world.switchboard.handle(.received(talk.caller, frame), at: talk.world.now, into: &outputs)
        }
        talk.world.switchboard.flush(at: talk.world.now, into: &outputs)
        talk.world.switchboard.flush(at: talk.world.now, into: &outputs)
        #expect(talk.world.changes.count == before)
        var commits: [[Change]] = []
        for case .commit(let batch, _) in outputs { commits.append(batch) }
        #expect(commits.count == 1)
        #expect(commits[0].count { if case .call = $0 { true } else { false } } == 1)
        #expect(commits[0].count { if case .entry = $0 { true } else { false } } == 10)
        guard case .call? = commits[0].first else {
            Issue.record("a call's record comes before its entries")
            return
        }
    }
}

@Suite("A store that cannot write")
struct StalledStoreTests {
    private func stalled() throws -> Talk {
        let talk = try Talk.answered()
        talk.world.holdsCommits = true
        talk.clear()
        return talk
    }

    @Test("A candidate is refused, and an end takes effect")
    func signals() throws {
        let talk = try stalled()
        talk.world.give(.stored(.stalled(StoreFailure("disk full"))))
        #expect(talk.world.switchboard.metrics.isStalled)
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(talk.world.takeFrames(of: talk.caller).code == "store_unavailable")
        #expect(talk.world.takeFrames(of: talk.callee).isEmpty)
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(talk.world.takeFrames(of: talk.caller).states == ["ended hangup"])
    }

    @Test("Waiting requests and new requests are refused with 503, but an end takes effect")
    func requests() throws {
        let talk = try stalled()
        let before = talk.world.request(try principal("11"), .blocks(.block(try user("12"))))
        #expect(talk.world.replies[before] == nil)
        talk.world.give(.stored(.stalled(StoreFailure("disk full"))))
        #expect(talk.world.replies[before]?.status == 503)
        #expect(talk.world.replies[before]?.retryAfterSeconds != nil)
        let after = talk.world.request(try principal("11"), .end(try call("c-1"), device: try device("a1")))
        #expect(talk.world.replies[after]?.status == 503)
        #expect(talk.world.takeFrames(of: talk.callee).states == ["ended hangup"])
    }

    @Test("That a device is not registered is said only once its removal is durable")
    func removals() throws {
        let talk = try Talk.answered()
        let bob = try principal("10")
        try talk.world.register(bob, "b9", voip: "b9")
        talk.world.holdsCommits = true
        let first = talk.world.request(bob, .devices(.remove(try device("b9"))))
        let early = talk.world.request(bob, .devices(.remove(try device("b9"))))
        #expect(talk.world.replies[early] == nil, "a crash could bring the device back")
        talk.world.give(.stored(.stalled(StoreFailure("disk full"))))
        #expect(talk.world.replies[first]?.status == 503)
        let late = talk.world.request(bob, .devices(.remove(try device("b9"))))
        #expect(talk.world.replies[late]?.status == 503)
        talk.world.commit()
        #expect(try talk.world.reply(bob, .devices(.remove(try device("b9")))).status == 404)
    }

    @Test("A signal that was relayed before the stall is acknowledged once the store can write again")
    func recovery() throws {
        let talk = try stalled()
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        talk.world.give(.stored(.stalled(StoreFailure("disk full"))))
        talk.clear()
        talk.world.give(.stored(.recovered))
        talk.world.commit()
        #expect(talk.world.takeFrames(of: talk.caller).types == ["ack"])
        talk.world.holdsCommits = false
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "j"))
        #expect(talk.world.takeFrames(of: talk.caller).types == ["ack"])
        #expect(talk.world.notes.suffix(2) == [.storeStalled("disk full"), .storeRecovered])
    }

    @Test("After another server has taken over the database, a server acknowledges nothing more")
    func deposed() throws {
        let talk = try stalled()
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        let before = talk.world.request(try principal("11"), .blocks(.block(try user("12"))))
        talk.clear()
        talk.world.give(.stored(.deposed(StoreFailure("taken over"))))
        #expect(talk.world.replies[before]?.status == 503)
        #expect(!talk.world.takeFrames(of: talk.caller).types.contains("ack"))
        #expect(talk.world.notes.last == .storeStalled("taken over"))
    }

    @Test("The numbers of commits that the database had lost are reported for the log")
    func behind() throws {
        let talk = try stalled()
        talk.world.give(.stored(.behind(resent: 3, lost: 1)))
        #expect(talk.world.notes.last == .storeBehind(resent: 3, lost: 1))
    }
}
