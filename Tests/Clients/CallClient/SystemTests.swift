import CallClient
import CallCore
import Testing

@Suite("A call whose answer the system gave up")
struct AnswerTimedOutTests {
    @Test("A call that waits for its offer ends as failed, on this device and for the caller")
    func answering() {
        var bench = ClientBench()
        _ = bench.take(.pushed(ClientBench.push(at: bench.now)))
        bench.take(.answer(ClientBench.uuid()))
        #expect(bench.phase == .answering)
        let outputs = bench.take(.answerTimedOut(ClientBench.uuid()))
        #expect(outputs.ends == [.failed])
        #expect(outputs.compactMap(\.sent).map(\.content) == [.end(.failed)])
        #expect(bench.client.calls.last?.reason == .failed)
    }

    @Test("An answer that was sent already does not save the call: there is no screen left that shows it")
    func connecting() {
        var bench = ClientBench()
        _ = bench.offered()
        bench.take(.answer(ClientBench.uuid()))
        bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0 own answer"))
        #expect(bench.phase == .connecting)
        let outputs = bench.take(.answerTimedOut(ClientBench.uuid()))
        #expect(outputs.ends == [.failed] && outputs.contains(.closeMedia(ClientBench.uuid())))
        #expect(outputs.sent == [.end])
    }

    @Test("Neither a call that is over, nor an outgoing or unknown call, has an answer that times out")
    func others() {
        var bench = ClientBench.talking()
        bench.take(.end(ClientBench.uuid()))
        #expect(bench.take(.answerTimedOut(ClientBench.uuid())).isEmpty)
        #expect(bench.take(.answerTimedOut(ClientBench.uuid("c9"))).isEmpty)
        bench = ClientBench.talkingAsCaller()
        #expect(bench.take(.answerTimedOut(ClientBench.ownUUID)).isEmpty && bench.phase == .active)
    }
}

@Suite("A call that the system does not show")
struct SilencedCallTests {
    @Test("The call ends here, the server is told why, and nothing is declined")
    func failed() {
        for why in Silence.allCases {
            var bench = ClientBench()
            _ = bench.offered()
            let outputs = bench.take(.reportFailed(ClientBench.uuid(), why))
            #expect(outputs.compactMap(\.sent).map(\.content) == [.silenced(why)], "\(why)")
            #expect(outputs.ends.isEmpty, "the system knows no such call")
            #expect(bench.phase == .ended)
            #expect(!bench.history.sent.contains(.end))
            let frame = String(decoding: bench.history.compactMap(\.sent).last?.frame ?? [], as: UTF8.self)
            #expect(frame.hasPrefix(#"{"type":"ringing","#))
            #expect(frame.hasSuffix(#""shown":false,"why":"\#(why.rawValue)"}"#))
        }
    }

    @Test("Neither the replay of the call, nor its end, nor a late push makes it ring again")
    func late() {
        var bench = ClientBench()
        _ = bench.offered()
        bench.take(.reportFailed(ClientBench.uuid(), .focus))
        bench.take(.connectionClosed)
        bench.take(.connectionOpened)
        bench.nextSeq = 1
        #expect(bench.offered().reported.isEmpty)
        #expect(bench.event(.init(.ended, reason: .answeredElsewhere)).ends.isEmpty)
        let outputs = bench.take(.pushed(ClientBench.push(at: bench.now)))
        #expect(outputs.reported.count == 1 && outputs.ends == [.unanswered], "a push is always reported")
        #expect(outputs.sent.isEmpty && outputs.posted.isEmpty)
    }

    @Test("A woken device says it by request, with the push's capability if its token has expired")
    func request() {
        var bench = ClientBench(isOpen: false)
        bench.take(.tokenExpired)
        let push = bench.take(.pushed(ClientBench.push(at: bench.now)))
        #expect(push.posted == [.ringing])
        guard let ringing = push.compactMap(\.posted).first else { return }
        bench.take(.reportFailed(ClientBench.uuid(), .blockList))
        let outputs = bench.take(.posted(ringing.id, .success(Ack(epoch: 1, seq: 2))))
        #expect(outputs.compactMap(\.posted).map(\.content) == [.silenced(.blockList)])
        #expect(outputs.contains { if case .post(_, .capability("capability")) = $0 { true } else { false } })
    }

    @Test("It is sent again until the server has it, and dropped if the server does not know the call any more")
    func resent() {
        var bench = ClientBench()
        _ = bench.offered()
        let sent = bench.take(.reportFailed(ClientBench.uuid(), .focus)).compactMap(\.sent)
        bench.take(.connectionClosed)
        #expect(bench.take(.connectionOpened).compactMap(\.sent).map(\.id).contains(sent.first?.id))
        for code in ["call_ended", "already_answered", "forbidden"] {
            var other = bench
            guard let id = sent.first?.id else { return }
            #expect(other.take(.received(.error(id, code: code))).ends.isEmpty, "\(code)")
            #expect(!other.history.sent.contains(.end))
        }
        bench.acknowledgeAll()
        #expect(bench.client.unacknowledgedCount == 0)
    }

    @Test("A call that was answered, or is unknown or over, is not touched")
    func others() {
        var bench = ClientBench.talking()
        #expect(bench.take(.reportFailed(ClientBench.uuid(), .full)).isEmpty && bench.phase == .active)
        #expect(bench.take(.reportFailed(ClientBench.uuid("c9"), .full)).isEmpty)
        bench.take(.end(ClientBench.uuid()))
        #expect(bench.take(.reportFailed(ClientBench.uuid(), .full)).isEmpty)
    }

    @Test("A call that an earlier launch answered is ended on the server, although the system does not show it")
    func earlierLaunch() {
        var bench = ClientBench()
        _ = bench.offered()
        bench.take(.reportFailed(ClientBench.uuid(), .focus))
        let outputs = bench.event(.init(.answered, answeredBy: ClientBench.device("phone")))
        #expect(outputs.compactMap(\.sent).map(\.content) == [.end(.disconnected)])
        bench = ClientBench()
        _ = bench.offered()
        bench.take(.reportFailed(ClientBench.uuid(), .focus))
        #expect(bench.event(.init(.answered, answeredBy: ClientBench.device("tablet"))).sent.isEmpty)
    }

    @Test("An app that says of each report whether it was shown notifies the caller only of a ring that its user sees")
    func awaited() {
        var bench = ClientBench { $0.awaitsReports = true }
        let outputs = bench.offered()
        #expect(outputs.reported == [ClientBench.uuid()] && outputs.sent.isEmpty)
        #expect(bench.take(.reportSucceeded(ClientBench.uuid())).sent == [.ringing])
        #expect(bench.take(.reportSucceeded(ClientBench.uuid())).isEmpty)
        bench = ClientBench { $0.awaitsReports = true }
        _ = bench.offered()
        bench.take(.reportFailed(ClientBench.uuid(), .focus))
        bench.take(.reportSucceeded(ClientBench.uuid()))
        #expect(bench.history.compactMap(\.sent).map(\.content) == [.silenced(.focus)])
    }

    @Test("A caller plays no ringback tone for a device that a server without `shown` lets pass for ringing")
    func oldServer() {
        let text = #"{"type":"ringing","callId":"c1","epoch":1,"seq":3,"from":"11","fromDevice":"d","shown":SHOWN}"#
        let silenced = ServerMessage(Array(text.replacing("SHOWN", with: "false").utf8))
        #expect(silenced == .other)
        guard case .signal(_, .ringing) = ServerMessage(Array(text.replacing("SHOWN", with: "true").utf8)) else {
            Issue.record("with true it is a ringing")
            return
        }
    }
}
