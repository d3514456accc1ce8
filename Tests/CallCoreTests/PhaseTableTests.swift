import CallCore
import Testing

/// What becomes of every signal, in every phase, from every kind of device.
@Suite("A signal")
struct PhaseTableTests {
    /// Where a call stands.
    enum Stage: String, CaseIterable, Sendable { case ringing, answered, active, ended, declined }

    /// Who sends: the device that is in the call, or another of the same user.
    enum Sender: String, CaseIterable, Sendable { case caller, callersOther, callee, calleesOther }

    enum Fate: String, Sendable {
        case taken, repeated, noEffect, alreadyAnswered, callEnded, callExists, forbidden
    }

    private static func start(_ stage: Stage, _ b1: Phone, _ b2: Phone) throws -> Bench {
        var bench = try Bench(callees: [b1, b2])
        switch stage {
        case .ringing: break
        case .answered: try bench.send(.answer(digest: 2), .callee, b1)
        case .active:
            try bench.send(.answer(digest: 2), .callee, b1)
            try bench.send(.connected, .callee, b1)
        case .ended:
            try bench.send(.answer(digest: 2), .callee, b1)
            try bench.send(.end(nil), .caller, bench.caller)
        case .declined: try bench.send(.end(nil), .callee, b1)
        }
        return bench
    }

    private static func content(_ kind: SignalKind) -> Signal.Content {
        switch kind {
        case .offer: .offer(offer(99))
        case .ringing: .ringing
        case .answer: .answer(digest: 98)
        case .ice: .ice
        case .connected: .connected
        case .update: .update(MediaUpdate(hold: true))
        case .dtmf: .dtmf
        case .info: .info
        case .end: .end(nil)
        }
    }

    private static func fate(_ out: [CallSession.Output]) -> Fate {
        switch out.refusal {
        case .alreadyAnswered: return .alreadyAnswered
        case .callEnded: return .callEnded
        case .callExists: return .callExists
        case .forbidden: return .forbidden
        case .logFull, .unknownEpoch, nil: break
        }
        guard let acknowledged = out.acknowledged else { return .noEffect }
        return acknowledged.isNew ? .taken : acknowledged.seq == 0 ? .noEffect : .repeated
    }

    /// The protocol's word for each case.
    private static func expected(_ kind: SignalKind, _ stage: Stage, _ sender: Sender) -> Fate {
        switch stage {
        case .ringing: ringing(kind, sender)
        case .answered, .active: answered(kind, sender)
        case .ended: kind == .end && sender == .calleesOther ? .noEffect : .callEnded
        case .declined: .callEnded
        }
    }

    private static func ringing(_ kind: SignalKind, _ sender: Sender) -> Fate {
        switch (sender, kind) {
        case (.callee, .offer), (.calleesOther, .offer): .callExists
        case (.callee, _), (.calleesOther, _): .taken
        // Another device of the caller may cancel; the rest is the calling device's.
        case (.caller, .offer), (_, .end): .taken
        case (.caller, .ringing), (.caller, .answer): .forbidden
        case (.caller, _): .taken
        case (.callersOther, _): .forbidden
        }
    }

    private static func answered(_ kind: SignalKind, _ sender: Sender) -> Fate {
        switch (sender, kind) {
        case (.calleesOther, .end), (.callersOther, .end): .noEffect
        case (.calleesOther, _): .alreadyAnswered
        case (.callersOther, _): .forbidden
        case (.caller, .ringing): .forbidden
        case (.callee, .ringing): .noEffect
        // Nobody's renegotiation waits for an answer.
        case (_, .answer): .alreadyAnswered
        case (.caller, _), (.callee, _): .taken
        }
    }

    @Test("has the fate that the protocol gives it", arguments: SignalKind.allCases, Stage.allCases)
    func table(_ kind: SignalKind, _ stage: Stage) throws {
        let (b1, b2) = (try phone("b1"), try phone("b2"))
        for sender in Sender.allCases {
            var bench = try Self.start(stage, b1, b2)
            let before = bench.session
            let device =
                switch sender {
                case .caller: bench.caller
                case .callersOther: try phone("a2")
                case .callee: b1
                case .calleesOther: b2
                }
            let side: Side = sender == .caller || sender == .callersOther ? .caller : .callee
            let out = try bench.send(Self.content(kind), side, device)
            let expected = Self.expected(kind, stage, sender)
            #expect(Self.fate(out) == expected, "\(sender.rawValue)")
            if out.refusal != nil {
                #expect(bench.session == before, "a refused signal changes nothing: \(sender.rawValue)")
                #expect(out.count == 1)
            }
            if expected == .noEffect { #expect(out.entries.isEmpty, "\(sender.rawValue)") }
        }
    }

    @Test("of either side is for the other one", arguments: [SignalKind.ice, .connected, .update, .dtmf, .info])
    func audience(_ kind: SignalKind) throws {
        let b1 = try phone("b1")
        var bench = try Bench.active(with: b1)
        let fromCaller = try bench.send(Self.content(kind), .caller, bench.caller).entries
        #expect(fromCaller.map(\.audience) == [.callee])
        #expect(fromCaller.allSatisfy { bench.session.sees($0, side: .callee, phone: b1) })
        #expect(fromCaller.allSatisfy { !bench.session.sees($0, side: .caller, phone: bench.caller) })
        let fromCallee = try bench.send(Self.content(kind), .callee, b1).entries
        #expect(fromCallee.map(\.audience) == [.caller])
        #expect(fromCallee.allSatisfy { bench.session.sees($0, side: .caller, phone: bench.caller) })
        #expect(try fromCallee.allSatisfy { !bench.session.sees($0, side: .caller, phone: try phone("a2")) })
    }

    @Test("that updates what is held and muted leaves its latest value in the call")
    func update() throws {
        let b1 = try phone("b1")
        var bench = try Bench.active(with: b1)
        try bench.send(.update(MediaUpdate(hold: true)), .caller, bench.caller)
        try bench.send(.update(MediaUpdate(audioMuted: true)), .caller, bench.caller)
        try bench.send(.update(MediaUpdate(hold: false, videoMuted: true)), .callee, b1)
        #expect(bench.session.callerMedia == MediaUpdate(hold: true, audioMuted: true))
        #expect(bench.session.calleeMedia == MediaUpdate(hold: false, videoMuted: true))
    }
}
