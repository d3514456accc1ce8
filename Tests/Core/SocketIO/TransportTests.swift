import CallCore
import CallWire
import Testing

@testable import SocketIO

@Suite("A client that polls")
struct PollingTests {
    @Test("A poll gets waiting packets immediately or waits for new packets; the packets of one turn come together")
    func waits() throws {
        var bench = SocketSessionBench(.v4, isSocket: false, .valid(try SocketSessionBench.identity()))
        bench.poll()
        #expect(bench.taken().answers.first?.contains(#""upgrades":["websocket"]"#) == true)
        let request = bench.poll()
        #expect(bench.taken().answers.isEmpty)
        bench.say("40")
        #expect(bench.taken().answers.isEmpty, "not before the end of the turn")
        bench.hear(Said.offer(seq: 1))
        bench.give(.turnEnded)
        let outputs = bench.taken()
        #expect(outputs.answers.first?.split(separator: "\u{1E}").map { String($0.prefix(3)) } == ["40{", "42["])
        #expect(outputs.contains { if case .respond(request, _) = $0 { true } else { false } })
    }

    @Test("In version 3 a response with several packets has that version's form")
    func version3() throws {
        var bench = SocketSessionBench(.v3, isSocket: false, .valid(try SocketSessionBench.identity()))
        bench.poll()
        // This is what python-socketio 4.6.1 was sent.
        #expect(bench.taken().answers.first?.hasSuffix("}2:40") == true)
    }

    @Test("A second poll at the same time ends the session, and so does a broken connection")
    func overlap() throws {
        var bench = try SocketSessionBench.joined(isSocket: false)
        bench.poll()
        bench.poll()
        let outputs = bench.taken()
        #expect(outputs.refusals == [.badRequest, .badRequest])
        #expect(outputs.isOver)
        var broken = try SocketSessionBench.joined(isSocket: false)
        let request = broken.poll()
        broken.give(.abandoned(request))
        #expect(broken.taken().isOver)
    }

    @Test("A client that polls too slowly is disconnected")
    func overflow() throws {
        var bench = try SocketSessionBench.joined(isSocket: false)
        let frame = #"{"type":"message","from":"10","ts":1,"body":"\#(String(repeating: "x", count: 60_000))"}"#
        for _ in 0..<17 { bench.hear(frame) }
        #expect(!bench.taken().isOver && !bench.session.wasTooSlow)
        bench.hear(frame)
        #expect(bench.taken().isOver && bench.session.wasTooSlow)
    }

    @Test("In an upgrade the ping is answered, the waiting poll released, and the WebSocket gets the queued packets")
    func upgrade() throws {
        for version in EngineVersion.allCases {
            var bench = try SocketSessionBench.joined(version, isSocket: false)
            bench.poll()
            bench.give(.socketOpened)
            bench.give(.socketReceived(bytes("2probe")))
            var outputs = bench.taken()
            #expect(outputs.sent == ["3probe"])
            #expect(outputs.answers == [version == .v4 ? "6" : "1:6"])
            bench.hear(Said.offer())
            bench.give(.turnEnded)
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
        "A poll gets 16 packets at most, further polls the rest; the poll after the last packet confirms all packets"
    )
    func manyPackets() throws {
        for version in EngineVersion.allCases {
            var bench = try SocketSessionBench.joined(version, isSocket: false)
            for seq in 1...40 { bench.hear(Said.offer(seq: seq)) }
            bench.give(.turnEnded)
            var counts: [Int] = []
            for _ in 1...4 {
                bench.poll()
                let outputs = bench.taken()
                let isSeen = outputs.contains { if case .seen = $0 { true } else { false } }
                #expect(isSeen == (counts.count == 3), "only after the last packet has arrived")
                for payload in outputs.answers {
                    counts.append(try EnginePayload.packets(in: bytes(payload), version).count)
                }
            }
            #expect(counts == [16, 16, 8])
        }
    }

    @Test("A poll during an upgrade gets a response immediately, and after a failed upgrade polling goes on")
    func upgradeFails() throws {
        var bench = try SocketSessionBench.joined(isSocket: false)
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

@Suite("The liveness of a Socket.IO session")
struct HeartbeatTests {
    @Test("In version 4 the server pings, and the session ends 20 s after a ping without a pong")
    func version4() throws {
        for isSocket in [true, false] {
            var bench = try SocketSessionBench.joined(isSocket: isSocket)
            bench.give(.ping(7))
            bench.give(.turnEnded)
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

    @Test("In version 3 the client pings, and the session ends after 45 s without a packet")
    func version3() throws {
        var bench = try SocketSessionBench.joined(.v3)
        for _ in 0..<3 {
            bench.wait(44_999)
            bench.give(.deadlineReached)
            bench.say("2")
            let outputs = bench.taken()
            #expect(outputs.sent == ["3"])
            #expect(outputs.contains(.signOfLife))
        }
        bench.wait(45_000)
        bench.give(.deadlineReached)
        #expect(bench.taken().isOver)
    }

    @Test(
        "Requests that were on their way when a client was probed are no signs of its life",
        arguments: [EngineVersion.v3, .v4]
    )
    func lateRequests(_ version: EngineVersion) throws {
        for isPost in [true, false] {
            var bench = try SocketSessionBench.joined(version, isSocket: false)
            bench.give(.ping(7))
            bench.give(.turnEnded)
            // A client of version 3 pings by itself.
            if isPost { bench.post(version == .v3 ? "1:2" : "6") } else { bench.poll() }
            let late = bench.taken()
            #expect(!late.contains(.signOfLife) && !late.contains(.ponged(7)), "\(late)")
            if isPost { bench.poll() }
            bench.poll()
            #expect(bench.taken().contains(.signOfLife), "it has had a response since the probe")
        }
    }

    @Test("In version 3 a probe is a ping of the WebSocket, or the release of a waiting poll")
    func probes() throws {
        var socket = try SocketSessionBench.joined(.v3)
        socket.give(.ping(7))
        #expect(socket.taken() == [.pingSocket(1)])
        socket.give(.ping(8))
        #expect(socket.taken() == [.pingSocket(2)])
        socket.give(.socketPonged(nil))
        #expect(socket.taken() == [.signOfLife], "this pong answers no ping")
        socket.give(.socketPonged(2))
        #expect(socket.taken() == [.ponged(7), .ponged(8)], "the pong to the newest ping answers the earlier ones")

        var polling = try SocketSessionBench.joined(.v3, isSocket: false)
        polling.poll()
        polling.give(.ping(9))
        polling.give(.turnEnded)
        let outputs = polling.taken()
        #expect(outputs.answers == ["1:6"])
        #expect(!outputs.contains(.ponged(9)))
        polling.poll()
        #expect(polling.taken().contains(.ponged(9)), "the next poll proves that the release arrived")
    }

    @Test("The pong to the session's own ping is not reported as the answer to the switchboard's ping")
    func order() throws {
        var bench = try SocketSessionBench.joined()
        bench.hear(Said.offer(seq: 4))
        bench.give(.turnEnded)
        bench.give(.ping(5))
        #expect(bench.taken().sent.suffix(2) == ["2", "2"])
        bench.say("3")
        #expect(!bench.taken().contains(.ponged(5)), "this pong answers the session's own ping")
        bench.say("3")
        #expect(bench.taken().contains(.ponged(5)))
        bench.say("3")
        #expect(!bench.taken().contains(.ponged(5)), "no ping is open")
    }
}

@Suite("Cursors that a device has confirmed")
struct SeenTests {
    private func log() throws -> LogIdentity {
        guard let id = CallID("10-11") else { throw InvalidFixture() }
        return LogIdentity(callID: id, room: "p2p:10-11", epoch: 1)
    }

    @Test("The pong to a ping confirms the packets sent before that ping")
    func socket() throws {
        var bench = try SocketSessionBench.joined()
        bench.hear(Said.offer(seq: 4))
        bench.give(.turnEnded)
        bench.hear(Said.call("ringing", seq: 5))
        #expect(bench.taken().sent.last == "2")
        bench.say("3")
        let outputs = bench.taken()
        #expect(outputs.contains(.seen([try log(): 4])))
        #expect(outputs.contains(.needsTurnEnd), "a newer packet is not confirmed yet")
        bench.give(.turnEnded)
        bench.say("3")
        #expect(bench.taken().contains(.seen([try log(): 5])))
    }

    @Test("The next poll confirms a response, and sending the response does not")
    func polling() throws {
        for version in EngineVersion.allCases {
            var bench = try SocketSessionBench.joined(version, isSocket: false)
            bench.poll()
            bench.hear(Said.offer(seq: 4))
            bench.give(.turnEnded)
            let outputs = bench.taken()
            #expect(outputs.answers.count == 1)
            #expect(!outputs.contains(.seen([try log(): 4])))
            bench.poll()
            #expect(bench.taken().contains(.seen([try log(): 4])))
        }
    }
}
