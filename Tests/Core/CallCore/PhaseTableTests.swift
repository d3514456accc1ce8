import CallCore
import Testing

/// The result of every signal, in every phase, from every kind of device.
@Suite("A signal")
struct PhaseTableTests {
    /// The phase of the call.
    ///
    /// `ended`: the call was answered and then ended; `declined`: the callee declined it.
    enum Stage: String, CaseIterable, Sendable { case ringing, answered, active, ended, declined }

    /// The sender: the user's device that is in the call, or another device of the same user.
    enum Sender: String, CaseIterable, Sendable { case caller, callersOther, callee, calleesOther }

    enum Fate: String, Sendable {
        case taken, repeated, noEffect, alreadyAnswered, callEnded, callExists, forbidden
    }

    private static func start(_ stage: Stage, _ b1: DeviceIdentity, _ b2: DeviceIdentity) throws -> CallBench {
        var bench = try CallBench(callees: [b1, b2])
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

    /// Returns the result that the protocol requires.
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
        // Another device of the caller may cancel. Every other signal must come from the calling device.
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
        // No renegotiation waits for an answer.
        case (_, .answer): .alreadyAnswered
        case (.caller, _), (.callee, _): .taken
        }
    }

    @Test("Each phase treats each signal as the protocol requires", arguments: SignalKind.allCases, Stage.allCases)
    func table(_ kind: SignalKind, _ stage: Stage) throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        for sender in Sender.allCases {
            var bench = try Self.start(stage, b1, b2)
            let before = bench.session
            let device =
                switch sender {
                case .caller: bench.caller
                case .callersOther: try device("a2")
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

    @Test("A signal of one side is for the other side", arguments: [SignalKind.ice, .connected, .update, .dtmf, .info])
    func audience(_ kind: SignalKind) throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        let fromCaller = try bench.send(Self.content(kind), .caller, bench.caller).entries
        #expect(fromCaller.map(\.audience) == [.callee])
        #expect(fromCaller.allSatisfy { bench.session.sees($0, side: .callee, device: b1) })
        #expect(fromCaller.allSatisfy { !bench.session.sees($0, side: .caller, device: bench.caller) })
        let fromCallee = try bench.send(Self.content(kind), .callee, b1).entries
        #expect(fromCallee.map(\.audience) == [.caller])
        #expect(fromCallee.allSatisfy { bench.session.sees($0, side: .caller, device: bench.caller) })
        #expect(try fromCallee.allSatisfy { !bench.session.sees($0, side: .caller, device: try device("a2")) })
    }

    @Test("The latest hold and mute state of each side stays in the call")
    func update() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        try bench.send(.update(MediaUpdate(hold: true)), .caller, bench.caller)
        try bench.send(.update(MediaUpdate(audioMuted: true)), .caller, bench.caller)
        try bench.send(.update(MediaUpdate(hold: false, videoMuted: true)), .callee, b1)
        #expect(bench.session.callerMedia == MediaUpdate(hold: true, audioMuted: true))
        #expect(bench.session.calleeMedia == MediaUpdate(hold: false, videoMuted: true))
    }
}
