import CallCore
import CallWire
import Testing

@testable import Switchboard

@Suite("A cursor")
struct CursorTests {
    private func seqs(_ talk: Talk, _ calls: String) -> [UInt64] {
        talk.clear()
        talk.world.send(talk.callee, #"{"type":"sync","id":"s","calls":\#(calls)}"#)
        let frames = talk.world.takeFrames(of: talk.callee)
        #expect(frames.last?.type == "ack")
        #expect(frames.last?["id"] == "s")
        return frames.dropLast().map(\.seq)
    }

    @Test("A sync returns the entries after the cursor")
    func since() throws {
        let talk = try Talk.answered()
        for index in 0..<3 { talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(index)")) }
        #expect(seqs(talk, #"{"c-1":0}"#) == [1, 4, 5, 6, 7])
        #expect(seqs(talk, #"{"c-1":4}"#) == [5, 6, 7])
        #expect(seqs(talk, #"{"c-1":{"epoch":1,"seq":6}}"#) == [7])
        #expect(seqs(talk, #"{"c-1":7}"#).isEmpty)
        #expect(seqs(talk, #"{"c-1":99,"unknown":0}"#).isEmpty)
    }

    @Test("A cursor of another epoch counts as 0")
    func epoch() throws {
        let talk = try Talk.answered()
        #expect(seqs(talk, #"{"c-1":{"epoch":2,"seq":4}}"#) == [1, 4])
    }

    @Test("A fetch returns the signals after its cursor, all candidates, and the cursor for the next fetch")
    func fetch() throws {
        let talk = try Talk.answered()
        for index in 0..<3 { talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(index)")) }
        let all = try talk.world.fetched(try principal("10"), "c-1", device: "b1")
        #expect(all["next"] == "7")
        let rest = try talk.world.fetched(try principal("10"), "c-1", since: 6, device: "b1")
        #expect(rest["next"] == "7")
        #expect(rest["signals"]?.contains(#""id":"i2""#) == true)
        #expect(rest["signals"]?.contains(#""id":"i1""#) == false)
        #expect(rest["candidates"] == #"[{"candidate":"i0"},{"candidate":"i1"},{"candidate":"i2"}]"#)
        #expect(rest["offer"]?.contains("v=0") == true)
        let none = try talk.world.fetched(try principal("10"), "c-1", since: 50, device: "b1")
        #expect(none["next"] == "50")
        #expect(none["signals"] == "[]")
    }
}

@Suite("A callId that is used again")
struct EpochTests {
    @Test("The next call begins a new log, which shows nothing of the earlier call")
    func again() throws {
        let talk = try Talk.answered(callID: "11-10")
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "11-10", id: "e"))
        talk.clear()
        talk.world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        let offer = try #require(talk.world.takeFrames(of: talk.callee).of("offer").first)
        #expect(offer["epoch"] == "2")
        #expect(offer.seq == 1)
        let view = try talk.world.fetched(try principal("11"), "11-10", device: "a1")
        #expect(view["epoch"] == "2")
        #expect(view["answer"] == "null")
        #expect(offer["callUUID"] == UUIDv5.call(try call("11-10"), epoch: 2))
    }

    @Test("A second copy of the earlier call's answer, which arrives late, does not answer the next call")
    func staleAnswer() throws {
        let talk = try Talk(callID: "11-10")
        let answer = #"{"type":"answer","callId":"11-10","sdp":"v=0\r\ns=b\r\n"}"#
        talk.world.send(talk.callee, answer)
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "11-10", id: "e"))
        talk.world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        talk.clear()
        talk.world.send(talk.callee, answer)
        #expect(talk.world.takeFrames(of: talk.caller).isEmpty)
        #expect(try talk.world.fetched(try principal("11"), "11-10", device: "a1")["state"] == "ringing")
        talk.world.send(talk.callee, SwitchboardWorld.answer("11-10", id: "a2", sdp: "v=0\\r\\ns=c\\r\\n"))
        #expect(talk.world.takeFrames(of: talk.caller).states == ["answered"])
    }

    @Test("Epochs continue to be counted when the earlier call can no longer be fetched")
    func forgotten() throws {
        let talk = try Talk(callID: "11-10")
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "11-10", id: "e"))
        talk.world.give(.closed(talk.callee))
        talk.world.give(.closed(talk.caller))
        talk.world.wait(700)
        #expect(try talk.world.fetched(try principal("11"), "11-10").status == 404)
        let caller = try talk.world.open("11", "a1")
        talk.world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2"))
        #expect(talk.world.takeFrames(of: caller).ack?["epoch"] == "2")
    }

    @Test("An offer of another device of the caller replaces the live call")
    func replaced() throws {
        let talk = try Talk.answered(callID: "11-10")
        let other = try talk.world.open("11", "a2")
        talk.clear()
        talk.world.send(other, SwitchboardWorld.offer("11-10", to: "10", id: "n", sdp: "v=0\\r\\ns=n\\r\\n"))
        #expect(talk.world.takeFrames(of: talk.caller).states == ["ended replaced"])
        let callee = talk.world.takeFrames(of: talk.callee)
        #expect(callee.states == ["ended replaced"])
        #expect(callee.of("offer").first?["epoch"] == "2")
    }

    @Test("An offer of the calling device renegotiates the answered call and does not ring again")
    func renegotiated() throws {
        let talk = try Talk.answered(callID: "11-10")
        talk.clear()
        talk.world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "n", sdp: "v=0\\r\\ns=n\\r\\n"))
        let callee = talk.world.takeFrames(of: talk.callee)
        #expect(callee.types == ["offer"])
        #expect(callee[0]["epoch"] == "1")
    }

    @Test("Another pair's call has its own epoch, and is hidden from a user who is in a live call of that callId")
    func pairs() throws {
        let talk = try Talk()
        let outsider = try talk.world.open("12", "x1")
        talk.clear()
        talk.world.send(outsider, SwitchboardWorld.offer("c-1", to: "13"))
        #expect(talk.world.takeFrames(of: outsider).ack?["epoch"] == "1")
        #expect(talk.world.takeFrames(of: talk.callee).isEmpty)
        talk.world.send(outsider, SwitchboardWorld.offer("c-1", to: "10", id: "p"))
        #expect(
            talk.world.takeFrames(of: talk.callee).isEmpty,
            "it is hidden from a user who is in a call of that callId"
        )
        #expect(try talk.world.fetched(try principal("11"), "c-1", device: "a1")["room"] == "p2p:11-10")
    }

    @Test("An offer for an ended epoch is refused as `call_ended`, for a later epoch as `not_found`; neither rings")
    func lateRenegotiation() throws {
        let talk = try Talk.answered()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.clear()
        for epoch in [1, 2] {
            talk.world.send(
                talk.caller,
                SwitchboardWorld.offer(
                    "c-1",
                    to: "10",
                    id: "n\(epoch)",
                    sdp: "v=0\\r\\ns=n\\r\\n",
                    more: ",\"epoch\":\(epoch)"
                )
            )
            #expect(talk.world.takeFrames(of: talk.caller).code == (epoch == 1 ? "call_ended" : "not_found"))
        }
        #expect(talk.world.takeFrames(of: talk.callee).isEmpty)
    }

    @Test("An offer by the callee of a ringing call is refused as call_exists")
    func crossing() throws {
        let talk = try Talk()
        talk.clear()
        talk.world.send(talk.callee, SwitchboardWorld.offer("c-1", to: "11"))
        #expect(talk.world.takeFrames(of: talk.callee).code == "call_exists")
    }
}
