import CallCore
import CallWire
import Testing

@testable import SocketIO

@Suite("The admission of a Socket.IO client")
struct EntryTests {
    static let welcome =
        #"0{"sid":"SID","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":65536}"#

    @Test("A version 4 client is admitted by the token in CONNECT, and is sent the response to CONNECT before it joins")
    func authenticates() throws {
        var bench = SocketSessionBench()
        #expect(bench.taken().sent == [Self.welcome])
        // This is what python-socketio 5.18.1 sends.
        bench.say(#"40{"token":"TOKEN"}"#)
        #expect(bench.taken().contains(.verify(token: "TOKEN")))
        bench.give(.verified(.success(try SocketSessionBench.identity())))
        let outputs = bench.taken()
        #expect(outputs.sent == [#"40{"sid":"PUBLIC"}"#])
        #expect(outputs.joins == [try SocketSessionBench.identity()])
        #expect(outputs.first == .send([UInt8](repeating: 0, count: 16) + bytes(#"40{"sid":"PUBLIC"}"#)))
    }

    @Test("A client is admitted by the token in its handshake")
    func handshake() throws {
        var four = SocketSessionBench(.v4, .valid(try SocketSessionBench.identity()))
        four.say("40")
        #expect(four.taken().joins.count == 1)
        var three = SocketSessionBench(.v3, .valid(try SocketSessionBench.identity()))
        let outputs = three.taken()
        #expect(outputs.sent.last == "40")
        #expect(outputs.joins.count == 1)
    }

    @Test("A refused client is sent the reason; in version 4 it may try again, in version 3 its session ends")
    func refused() throws {
        var four = SocketSessionBench()
        four.say("40")
        #expect(four.taken().sent.last?.hasPrefix(#"44{"message":"token missing"#) == true)
        four.say(#"40{"token":"x"}"#)
        four.give(.verified(.failure(WireError(.tokenExpired, "the token has expired"))))
        let said = four.taken().sent.last
        #expect(said == #"44{"message":"the token has expired","data":{"code":"token_expired"}}"#)
        four.say(#"40{"token":"y"}"#)
        four.give(.verified(.success(try SocketSessionBench.identity())))
        #expect(four.taken().joins.count == 1)

        var three = SocketSessionBench(.v3, .refused(WireError(.unauthenticated, "no")))
        #expect(three.taken().sent.last == #"44"unauthenticated: no""#)
        three.give(.turnEnded)
        #expect(three.taken().isOver)
    }

    @Test("The user in `register` must be the user of the token")
    func register() throws {
        var bench = try SocketSessionBench.joined()
        // This is what both Python clients send.
        bench.say(#"421["register",{"userId":11}]"#)
        #expect(bench.taken().sent == [#"431[{"ok":true,"userId":11}]"#])
        bench.say(#"42["register",{"userId":"11"}]"#)
        #expect(!bench.taken().isOver)
        bench.say(#"42["register",{"userId":10}]"#)
        bench.give(.turnEnded)
        let outputs = bench.taken()
        #expect(outputs.sent.map { String($0.prefix(17)) } == [#"42["signal-error""#, "41"])
        #expect(outputs.contains(.closeSocket(code: 4403, reason: "registered as another user")))
        #expect(outputs.isOver)
    }

    @Test("If the operator trusts `register`, a client names its user once; an integer there sets the form of ids")
    func trusted() throws {
        for version in EngineVersion.allCases {
            var bench = SocketSessionBench(version, trusts: true)
            if version == .v4 { bench.say("40") }
            bench.say(#"421["offer",{"to":10,"sdp":"v=0"}]"#)
            #expect(bench.taken().sent.last?.contains("unauthenticated") == true)
            bench.say(#"42["register",{"userId":11}]"#)
            #expect(bench.taken().contains(.join(try SocketSessionBench.identity(), device: nil, isSelfNamed: true)))
            bench.say(#"42["register",{"userId":12}]"#)
            bench.give(.turnEnded)
            #expect(bench.taken().isOver, "a client cannot change its user")
        }
    }

    @Test("A client is disconnected if it sends too many other packets before it joins, or no token in time")
    func unauthenticated() {
        var bench = SocketSessionBench()
        for _ in 0..<SocketIOLimits.unauthenticatedPackets { bench.say(#"42["offer",{}]"#) }
        #expect(bench.taken().isOver)
        var silent = SocketSessionBench()
        silent.say("40")
        for _ in 0..<9 {
            silent.wait(4_999)
            silent.say("3")
            silent.give(.deadlineReached)
            #expect(!silent.taken().isOver)
        }
        silent.wait(10)
        silent.give(.deadlineReached)
        #expect(silent.taken().isOver)
    }

    @Test("There is only the default namespace, and a refusal does not repeat the requested name")
    func namespaces() throws {
        var four = SocketSessionBench()
        four.say("40/admin,{}")
        var outputs = four.taken()
        #expect(outputs.sent.last == #"44{"message":"Invalid namespace"}"#)
        #expect(outputs.contains(.refusedPacket(.namespace)))
        var three = SocketSessionBench(.v3, trusts: true)
        three.say("40/admin?token=x,")
        #expect(three.taken().sent.last == #"44"Invalid namespace""#)
        var joined = try SocketSessionBench.joined()
        let error = #"42["signal-error",{"code":"not_found","message":"only the default namespace exists"}]"#
        for packet in ["40/admin,{}", #"42/admin,7["offer",{}]"#] {
            joined.say(packet)
            outputs = joined.taken()
            #expect(outputs == [.send([UInt8](repeating: 0, count: 16) + bytes(error)), .refusedPacket(.namespace)])
        }
        joined.say("41/admin,")
        #expect(joined.taken() == [.refusedPacket(.namespace)])
    }

    @Test(
        "Each refused packet is counted by its reason, and ten of any kind end an unauthenticated session",
        arguments: [true, false]
    )
    func refusals(isSocket: Bool) {
        let packets: [(String, PacketRefusal)] = [
            ("40/x,", .namespace), ("42/x,[]", .namespace), ("451-[\"a\"]", .binary), (#"42["offer",{}]"#, .notJoined),
            ("42x", .notJoined), ("40", .token),
        ]
        var bench = SocketSessionBench(isSocket: isSocket)
        if !isSocket { bench.poll() }
        for number in 0..<SocketIOLimits.unauthenticatedPackets {
            #expect(!bench.taken().isOver)
            let (packet, reason) = packets[number % packets.count]
            bench.say(packet)
            if number < SocketIOLimits.unauthenticatedPackets - 1 {
                let outputs = bench.taken()
                #expect(outputs.contains(.refusedPacket(reason)), "\(packet)")
                #expect(!outputs.isOver)
            }
        }
        #expect(bench.taken().isOver)
        for (packet, reason) in [("9", PacketRefusal.syntax), ("49", .syntax), ("bAAAA", .binary)] {
            var bench = SocketSessionBench(isSocket: isSocket)
            bench.say(packet)
            let outputs = bench.taken()
            #expect(outputs.contains(.refusedPacket(reason)) && outputs.isOver, "\(packet)")
        }
    }

    @Test("A client that has not joined is sent 4 KiB at most", arguments: EngineVersion.allCases)
    func unread(version: EngineVersion) throws {
        for isSocket in [true, false] {
            var bench = SocketSessionBench(version, isSocket: isSocket, trusts: true)
            // A version 3 client sends pings, and each pong repeats the ping's data. Each refusal that a version 4
            // client is sent has a few words.
            let packet = (version == .v3 ? "2" : "40/") + String(repeating: "x", count: 1_000)
            for _ in 0..<100 { bench.say(packet) }
            let outputs = bench.taken()
            #expect(outputs.isOver)
            #expect(outputs.sent.reduce(0) { $0 + $1.utf8.count } <= SocketIOLimits.bytesBeforeJoining)
            #expect(bench.session.queuedBytes <= SocketIOLimits.bytesBeforeJoining)
        }
        var joined = try SocketSessionBench.joined(.v3)
        for _ in 0..<100 { joined.say("2" + String(repeating: "x", count: 1_000)) }
        #expect(!joined.taken().isOver)
    }

    @Test("After a client's disconnect its session serves no request")
    func over() throws {
        var bench = try SocketSessionBench.joined(isSocket: false)
        bench.post("41")
        #expect(bench.taken().isOver)
        bench.poll()
        bench.post("2")
        bench.hear(Said.offer())
        bench.give(.ping(1))
        #expect(bench.taken() == [.refuse(4, .sessionUnknown), .refuse(5, .sessionUnknown)])
        #expect(bench.session.deadline == nil)
    }
}
