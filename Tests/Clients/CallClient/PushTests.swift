import CallClient
import CallCore
import SeededRandom
import Testing

@Suite("A VoIP push")
struct PushTests {
    @Test(
        "If the connection has brought a call's end, a later push for that call is reported and ended, without a ring"
    )
    func afterTheEnd() {
        var bench = ClientBench()
        bench.take(.connectionOpened)
        _ = bench.event(.init(.ended, reason: .cancelled))
        let outputs = bench.take(.pushed(ClientBench.push(at: bench.now)))
        #expect(outputs.ends.count == 1)
        #expect(bench.client.calls.allSatisfy { !$0.isLive })
    }

    @Test("The outputs for a push contain exactly one report, whatever the push contains", arguments: 0..<400)
    func total(_ seed: UInt64) {
        var generator = SeededGenerator(mixing: seed)
        var bench =
            seed % 3 == 0 ? ClientBench.talking { $0.maximumCallGroups = 1 } : ClientBench(isOpen: seed % 2 == 0)
        if seed % 5 == 0 { bench.start(["a", "z"].randomElement(using: &generator) ?? "a") }
        for _ in 0..<20 {
            let push = generator.push(at: bench.now)
            let decision = PushDecision.of(push, bench.client.pushContext, at: bench.now)
            let outputs = bench.take(.pushed(push))
            let reports = outputs.filter {
                switch $0 {
                case .reportIncoming, .reportRepeated: true
                default: false
                }
            }
            #expect(reports.count == 1, "seed \(seed), \(decision)")
            if case .reportThenEnd = decision { #expect(outputs.ends.count == 1) }
            bench.advanceClock(by: .milliseconds(Int64.random(in: 0..<30_000, using: &generator)))
        }
    }

    @Test("A push without any content is reported as a call that ends immediately")
    func empty() {
        var bench = ClientBench()
        let outputs = bench.take(.pushed([:]))
        #expect(outputs.reported.count == 1 && outputs.ends == [.failed])
    }

    @Test("A push that comes after its ring is reported as a call that ends immediately, and no signal is sent")
    func late() {
        var bench = ClientBench()
        let push = ClientBench.push(at: bench.now)
        bench.advanceClock(by: .milliseconds(45_001))
        let outputs = bench.take(.pushed(push))
        #expect(outputs.reported == [ClientBench.uuid()] && outputs.ends == [.unanswered])
        #expect(outputs.sent.isEmpty)
    }

    @Test("A push for an ended call is reported under a new UUID, and that report ends with the call's reason")
    func over() {
        var bench = ClientBench()
        _ = bench.offered()
        _ = bench.event(.init(.ended, reason: .answeredElsewhere))
        let outputs = bench.take(.pushed(ClientBench.push(at: bench.now)))
        #expect(outputs.ends == [.answeredElsewhere])
        #expect(outputs.reported.count == 1 && outputs.reported != [ClientBench.uuid()])
    }

    @Test("A ring ends with the server's reason if the log shows that the call has ended")
    func turnsOut() throws {
        var bench = ClientBench(isOpen: false)
        let number = try #require(bench.take(.pushed(ClientBench.push(at: bench.now))).compactMap(\.fetched).first)
        let log = FetchedCall(callID: ClientBench.call("c1"), epoch: 1, state: .ended, reason: .answeredElsewhere)
        #expect(bench.take(.fetched(number, .success(log))).ends == [.answeredElsewhere])
        #expect(bench.client.deadline == nil || bench.phase == .ended)
    }

    @Test("A ring stops after the server has answered six fetches of its call with not_found")
    func lost() {
        var bench = ClientBench(isOpen: false)
        let until = bench.now + .seconds(44)
        bench.take(.pushed(ClientBench.push(at: bench.now)))
        var answered = 0
        while bench.phase == .ringing, bench.now < until {
            let asked = bench.history.compactMap(\.fetched)
            if asked.count > answered, let number = asked.last {
                answered += 1
                bench.take(.fetched(number, .failure(.refused(code: "not_found"))))
            } else {
                bench.handleDeadlines(for: .seconds(1))
            }
        }
        #expect(answered == 6 && bench.history.ends == [.failed])
    }

    @Test("A ring continues after five fetches that were refused for other reasons and two that got not_found")
    func refusedOtherwise() throws {
        var bench = ClientBench(isOpen: false)
        bench.take(.pushed(ClientBench.push(at: bench.now)))
        for code in Array(repeating: "rate_limited", count: 5) + ["not_found", "not_found"] {
            let number = try #require(bench.history.compactMap(\.fetched).last)
            bench.take(.fetched(number, .failure(.refused(code: code))))
            #expect(bench.phase == .ringing)
            bench.handleDeadlines(for: .milliseconds(8_000))
        }
    }

    @Test("An answered call that the server does not know ends within a minute")
    func answeredAndUnknown() {
        var bench = ClientBench(isOpen: false)
        bench.take(.pushed(ClientBench.push(at: bench.now, ["offer": .string("v=0 offer")])))
        bench.take(.answer(ClientBench.uuid()))
        bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0 own answer"))
        for _ in 0..<12 { bench.take(.localCandidate(ClientBench.uuid(), round: 1, #"{"candidate":"c"}"#)) }
        #expect(bench.client.calls.contains { $0.isAnswered })
        let until = bench.now + .seconds(60)
        var known = 0
        var seconds = 0
        while bench.client.calls.contains(where: \.isLive), bench.now < until {
            // The server refuses every signal and every fetch, and the user stays in a call without a peer.
            for output in bench.history[known...] {
                if let signal = output.posted { bench.take(.posted(signal.id, .failure(.refused(code: "not_found")))) }
                if let number = output.fetched { bench.take(.fetched(number, .failure(.refused(code: "not_found")))) }
                known += 1
            }
            seconds += 1
            bench.take(.setMuted(ClientBench.uuid(), audio: seconds.isMultiple(of: 2)))
            bench.handleDeadlines(for: .seconds(1))
        }
        #expect(bench.history.ends == [.failed])
    }

    @Test("A push of a later epoch ends the current call, and the new call rings")
    func later() {
        var bench = ClientBench.talking { $0.maximumCallGroups = 1 }
        let outputs = bench.take(.pushed(ClientBench.push(epoch: 2, at: bench.now)))
        #expect(outputs.ends == [.remoteEnded] && outputs.reported == [ClientBench.uuid("c1", epoch: 2)])
    }

    @Test("With an expired token, the push's capability allows `ringing` and the fetch; an answer waits for a token")
    func capability() throws {
        var bench = ClientBench(isOpen: false)
        bench.take(.tokenExpired)
        let outputs = bench.take(.pushed(ClientBench.push(at: bench.now, ["offer": .string("v=0 offer")])))
        let token = CallClient.Authorization.capability("capability")
        #expect(
            outputs.contains { if case .post(let signal, token) = $0 { signal.kind == .ringing } else { false } }
        )
        #expect(outputs.contains { if case .fetch(_, _, _, _, token) = $0 { true } else { false } })
        let ringing = try #require(outputs.compactMap(\.posted).first)
        bench.take(.posted(ringing.id, .success(Ack(epoch: 1, state: .ringing))))
        bench.take(.answer(ClientBench.uuid()))
        #expect(bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0")).posted.isEmpty)
        #expect(bench.take(.tokenRenewed).posted == [.answer])
    }

    @Test("Requests stop if the push's capability is refused as well")
    func refusedCapability() {
        var bench = ClientBench(isOpen: false)
        var outputs = bench.take(.pushed(ClientBench.push(at: bench.now)))
        var posts = 0
        for _ in 0..<50 {
            var next: [CallClient.Output] = []
            for output in outputs {
                if let signal = output.posted {
                    posts += 1
                    next += bench.take(.posted(signal.id, .failure(.refused(code: "unauthenticated"))))
                }
                if let number = output.fetched {
                    next += bench.take(.fetched(number, .failure(.refused(code: "unauthenticated"))))
                }
            }
            outputs = next
        }
        #expect(outputs.isEmpty && posts < 5)
    }

    @Test(
        "A push for a call hidden by an outgoing call is reported, and ends no other call, even if the push is late"
    )
    func hiddenCall() {
        var bench = ClientBench { $0.maximumCallGroups = 1 }
        bench.start("n")
        _ = bench.offered(call: "z")
        // The outgoing call loses a glare against a third call, and continues as that call.
        _ = bench.offered(call: "a")
        #expect(bench.client.calls.filter(\.isLive).map(\.callID).contains(ClientBench.call("a")))
        let repeated = bench.take(.pushed(ClientBench.push(call: "z", at: bench.now)))
        #expect(repeated.contains { if case .reportRepeated(ClientBench.ownUUID, _) = $0 { true } else { false } })
        bench.take(.end(ClientBench.ownUUID))
        bench.advanceClock(by: .seconds(51))
        let late = bench.take(.pushed(ClientBench.push(call: "z", at: bench.now)))
        #expect(late.reported == [ClientBench.uuid("z")] && late.ends == [.unanswered])
        #expect(bench.client.calls.allSatisfy { !$0.isLive || $0.phase.name == .hiddenByOutgoingCall })
    }
}
