import CallCore
import CallWire
import Testing

@testable import SocketIO

@Suite("A client that polls")
struct PollingTests {
    @Test("gets at once what waits, else waits for what comes, all that comes together in one answer")
    func waits() throws {
        var bench = Bench(.v4, isSocket: false, .valid(try Bench.identity()))
        bench.poll()
        #expect(bench.taken().answers.first?.contains(#""upgrades":["websocket"]"#) == true)
        let request = bench.poll()
        #expect(bench.taken().answers.isEmpty)
        bench.say("40")
        #expect(bench.taken().answers.isEmpty, "not before all is handed in")
        bench.hear(Said.offer(seq: 1))
        bench.give(.turned)
        let outputs = bench.taken()
        #expect(outputs.answers.first?.split(separator: "\u{1E}").map { String($0.prefix(3)) } == ["40{", "42["])
        #expect(outputs.contains { if case .respond(request, _) = $0 { true } else { false } })
    }

    @Test("gets two things in version 3's form")
    func version3() throws {
        var bench = Bench(.v3, isSocket: false, .valid(try Bench.identity()))
        bench.poll()
        // As python-socketio 4.6.1 got it.
        #expect(bench.taken().answers.first?.hasSuffix("}2:40") == true)
    }

    @Test("twice at a time has lost its way, and so has one whose connection broke")
    func overlap() throws {
        var bench = try Bench.joined(isSocket: false)
        bench.poll()
        bench.poll()
        let outputs = bench.taken()
        #expect(outputs.refusals == [.badRequest, .badRequest])
        #expect(outputs.isOver)
        var broken = try Bench.joined(isSocket: false)
        let request = broken.poll()
        broken.give(.abandoned(request))
        #expect(broken.taken().isOver)
    }

    @Test("too slowly is let go")
    func overflow() throws {
        var bench = try Bench.joined(isSocket: false)
        let frame = #"{"type":"message","from":"10","ts":1,"body":"\#(String(repeating: "x", count: 60_000))"}"#
        for _ in 0..<17 { bench.hear(frame) }
        #expect(!bench.taken().isOver && !bench.session.wasTooSlow)
        bench.hear(frame)
        #expect(bench.taken().isOver && bench.session.wasTooSlow)
    }

    @Test("upgrades: the probe is answered, the waiting poll freed, and what waits goes by the WebSocket")
    func upgrade() throws {
        for version in EngineVersion.allCases {
            var bench = try Bench.joined(version, isSocket: false)
            bench.poll()
            bench.give(.socketOpened)
            bench.give(.socketReceived(bytes("2probe")))
            var outputs = bench.taken()
            #expect(outputs.sent == ["3probe"])
            #expect(outputs.answers == [version == .v4 ? "6" : "1:6"])
            bench.hear(Said.offer())
            bench.give(.turned)
            #expect(bench.taken().sent.isEmpty)
            bench.give(.socketReceived(bytes("5")))
            outputs = bench.taken()
            #expect(outputs.sent.first?.hasPrefix(#"42["offer""#) == true)
            bench.poll()
            #expect(bench.taken().refusals == [.badRequest])
            bench.say(#"42["call-end",{"to":10}]"#)
            #expect(bench.taken().frames == [#"{"type":"end","id":"tag-1","to":10}"#])
        }
    }

    @Test(
        "that polls gets at most 16 packets at once, and the rest by the next polls; what it has got is known by them"
    )
    func manyPackets() throws {
        for version in EngineVersion.allCases {
            var bench = try Bench.joined(version, isSocket: false)
            for seq in 1...40 { bench.hear(Said.offer(seq: seq)) }
            bench.give(.turned)
            var counts: [Int] = []
            for _ in 1...4 {
                bench.poll()
                let outputs = bench.taken()
                let isSeen = outputs.contains { if case .seen = $0 { true } else { false } }
                #expect(isSeen == (counts.count == 3), "only when the last has arrived")
                for payload in outputs.answers {
                    counts.append(try EnginePayload.packets(in: bytes(payload), version).count)
                }
            }
            #expect(counts == [16, 16, 8])
        }
    }

    @Test("that polls once more while it upgrades is not kept waiting, and one that does not go on with it polls on")
    func upgradeFails() throws {
        var bench = try Bench.joined(isSocket: false)
        bench.give(.socketOpened)
        bench.give(.socketReceived(bytes("2probe")))
        bench.poll()
        #expect(bench.taken().answers == ["6"])
        bench.give(.socketClosed)
        bench.poll()
        #expect(bench.taken().answers.isEmpty)
        bench.give(.socketOpened)
        bench.give(.socketReceived(bytes(#"42["x"]"#)))
        let outputs = bench.taken()
        #expect(outputs.contains { if case .closeSocket = $0 { true } else { false } })
        #expect(!outputs.isOver && outputs.frames.isEmpty)
        bench.give(.socketOpened)
        bench.wait(10_000)
        bench.give(.deadlineReached)
        #expect(bench.taken().contains(.closeSocket(code: 1000, reason: "the upgrade took too long")))
    }
}

@Suite("A Socket.IO session's life")
struct HeartbeatTests {
    @Test("is asked for by the server in version 4, and over when there is no pong for 20 s")
    func version4() throws {
        for isSocket in [true, false] {
            var bench = try Bench.joined(isSocket: isSocket)
            bench.give(.ping(7))
            bench.give(.turned)
            if !isSocket { bench.poll() }
            var outputs = bench.taken()
            #expect(outputs.sent + outputs.answers == ["2"])
            bench.wait(19_999)
            bench.say("3")
            #expect(bench.taken().contains(.ponged(7)))
            bench.give(.ping(8))
            bench.wait(19_999)
            bench.give(.deadlineReached)
            #expect(!bench.taken().isOver)
            bench.wait(1)
            bench.give(.deadlineReached)
            outputs = bench.taken()
            #expect(outputs.isOver)
        }
    }

    @Test("is shown by the client in version 3, and over after 45 s without")
    func version3() throws {
        var bench = try Bench.joined(.v3)
        for _ in 0..<3 {
            bench.wait(44_999)
            bench.give(.deadlineReached)
            bench.say("2")
            let outputs = bench.taken()
            #expect(outputs.sent == ["3"])
            #expect(outputs.contains(.showedLife))
        }
        bench.wait(45_000)
        bench.give(.deadlineReached)
        #expect(bench.taken().isOver)
    }

    @Test("is asked for in version 3 by the WebSocket's own ping, and when polling by freeing the poll")
    func probes() throws {
        var socket = try Bench.joined(.v3)
        socket.give(.ping(7))
        #expect(socket.taken() == [.pingSocket(1)])
        socket.give(.ping(8))
        #expect(socket.taken() == [.pingSocket(2)])
        socket.give(.socketPonged(nil))
        #expect(socket.taken() == [.showedLife], "nobody asked for that one")
        socket.give(.socketPonged(2))
        #expect(socket.taken() == [.ponged(7), .ponged(8)], "the earlier ones need no answer")

        var polling = try Bench.joined(.v3, isSocket: false)
        polling.poll()
        polling.give(.ping(9))
        polling.give(.turned)
        let outputs = polling.taken()
        #expect(outputs.answers == ["1:6"])
        #expect(!outputs.contains(.ponged(9)))
        polling.poll()
        #expect(polling.taken().contains(.ponged(9)), "it came back for more")
    }

    @Test("tells a pong that the switchboard awaits from one that it does not")
    func order() throws {
        var bench = try Bench.joined()
        bench.hear(Said.offer(seq: 4))
        bench.give(.turned)
        bench.give(.ping(5))
        #expect(bench.taken().sent.suffix(2) == ["2", "2"])
        bench.say("3")
        #expect(!bench.taken().contains(.ponged(5)), "that was our own")
        bench.say("3")
        #expect(bench.taken().contains(.ponged(5)))
        bench.say("3")
        #expect(!bench.taken().contains(.ponged(5)), "one too many")
    }
}

@Suite("What has reached a device")
struct SeenTests {
    private func log() throws -> LogName {
        guard let id = CallID("10-11") else { throw Missing() }
        return LogName(callID: id, room: "p2p:10-11", epoch: 1)
    }

    @Test("is known by the pong to a ping that was sent behind it")
    func socket() throws {
        var bench = try Bench.joined()
        bench.hear(Said.offer(seq: 4))
        bench.give(.turned)
        bench.hear(Said.call("ringing", seq: 5))
        #expect(bench.taken().sent.last == "2")
        bench.say("3")
        let outputs = bench.taken()
        #expect(outputs.contains(.seen([try log(): 4])))
        #expect(outputs.contains(.needsTurn), "there is more to ask after")
        bench.give(.turned)
        bench.say("3")
        #expect(bench.taken().contains(.seen([try log(): 5])))
    }

    @Test("is known of one that polls by its next poll, not by its being sent")
    func polling() throws {
        for version in EngineVersion.allCases {
            var bench = try Bench.joined(version, isSocket: false)
            bench.poll()
            bench.hear(Said.offer(seq: 4))
            bench.give(.turned)
            let outputs = bench.taken()
            #expect(outputs.answers.count == 1)
            #expect(!outputs.contains(.seen([try log(): 4])))
            bench.poll()
            #expect(bench.taken().contains(.seen([try log(): 4])))
        }
    }
}
