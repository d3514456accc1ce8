import CallCore
import CallWire
import Testing

@testable import SocketIO

@Suite("A Socket.IO client")
struct EntryTests {
    static let welcome =
        #"0{"sid":"SID","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":65536}"#

    @Test("of version 4 is let in by the token in CONNECT, and told so before anything else")
    func authenticates() throws {
        var bench = Bench()
        #expect(bench.taken().sent == [Self.welcome])
        // As python-socketio 5.18.1 sends it.
        bench.say(#"40{"token":"TOKEN"}"#)
        #expect(bench.taken().contains(.verify(token: "TOKEN")))
        bench.give(.verified(.success(try Bench.identity())))
        let outputs = bench.taken()
        #expect(outputs.sent == [#"40{"sid":"PUBLIC"}"#])
        #expect(outputs.joins == [try Bench.identity()])
        #expect(outputs.first == .send([UInt8](repeating: 0, count: 16) + bytes(#"40{"sid":"PUBLIC"}"#)))
    }

    @Test("is let in by the handshake's token")
    func handshake() throws {
        var four = Bench(.v4, .valid(try Bench.identity()))
        four.say("40")
        #expect(four.taken().joins.count == 1)
        var three = Bench(.v3, .valid(try Bench.identity()))
        let outputs = three.taken()
        #expect(outputs.sent.last == "40")
        #expect(outputs.joins.count == 1)
    }

    @Test("without a token, or with a bad one, is told why: version 4 may try again, version 3 is over")
    func refused() throws {
        var four = Bench()
        four.say("40")
        #expect(four.taken().sent.last?.hasPrefix(#"44{"message":"a token is needed"#) == true)
        four.say(#"40{"token":"x"}"#)
        four.give(.verified(.failure(WireError(.tokenExpired, "the token has expired"))))
        let said = four.taken().sent.last
        #expect(said == #"44{"message":"the token has expired","data":{"code":"token_expired"}}"#)
        four.say(#"40{"token":"y"}"#)
        four.give(.verified(.success(try Bench.identity())))
        #expect(four.taken().joins.count == 1)

        var three = Bench(.v3, .refused(WireError(.unauthenticated, "no")))
        #expect(three.taken().sent.last == #"44"unauthenticated: no""#)
        three.give(.turned)
        #expect(three.taken().isOver)
    }

    @Test("that says who it is must be who the token says")
    func register() throws {
        var bench = try Bench.joined()
        // As both python clients send it.
        bench.say(#"421["register",{"userId":11}]"#)
        #expect(bench.taken().sent == [#"431[{"ok":true,"userId":11}]"#])
        bench.say(#"42["register",{"userId":"11"}]"#)
        #expect(!bench.taken().isOver)
        bench.say(#"42["register",{"userId":10}]"#)
        bench.give(.turned)
        let outputs = bench.taken()
        #expect(outputs.sent.map { String($0.prefix(17)) } == [#"42["signal-error""#, "41"])
        #expect(outputs.contains(.closeSocket(code: 4403, reason: "registered as another user")))
        #expect(outputs.isOver)
    }

    @Test("is believed where that is the operator's wish, once, and its ids are written as it writes them")
    func trusted() throws {
        for version in EngineVersion.allCases {
            var bench = Bench(version, trusts: true)
            if version == .v4 { bench.say("40") }
            bench.say(#"421["offer",{"to":10,"sdp":"v=0"}]"#)
            #expect(bench.taken().sent.last?.contains("unauthenticated") == true)
            bench.say(#"42["register",{"userId":11}]"#)
            #expect(bench.taken().contains(.join(try Bench.identity(), device: nil, isTrusted: true)))
            bench.say(#"42["register",{"userId":12}]"#)
            bench.give(.turned)
            #expect(bench.taken().isOver, "nobody becomes somebody else")
        }
    }

    @Test("that says other things first, or nothing for too long, is let go")
    func strangers() {
        var bench = Bench()
        for _ in 0..<SocketIOLimits.strangersEvents { bench.say(#"42["offer",{}]"#) }
        #expect(bench.taken().isOver)
        var silent = Bench()
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

    @Test("finds the default namespace only")
    func namespaces() {
        var four = Bench()
        four.say("40/admin,{}")
        #expect(four.taken().sent.last == #"44/admin,{"message":"Invalid namespace"}"#)
        var three = Bench(.v3, trusts: true)
        three.say("40/admin?token=x,")
        #expect(three.taken().sent.last == #"44/admin,"Invalid namespace""#)
    }

    @Test("that has gone is not served any more")
    func over() throws {
        var bench = try Bench.joined(isSocket: false)
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
