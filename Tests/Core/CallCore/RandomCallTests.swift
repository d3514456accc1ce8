import CallCore
import SeededRandom
import Testing

/// Thousands of calls with random inputs in random order.
@Suite("A call with random inputs")
struct RandomCallTests {
    @Test("Every invariant holds after every input, also after a repeated input", arguments: [1, 2, 3, 4])
    func invariants(_ part: UInt64) throws {
        for number in 0..<1_000 {
            let seed = part << 32 | UInt64(number)
            var run = try Run(seed: seed)
            try run.go(steps: 40)
            if let fault = run.fault {
                Issue.record("seed \(seed): \(fault)\n\(run.history.suffix(12).joined(separator: "\n"))")
                return
            }
        }
    }

    /// One call with random inputs, and the state that the checks of its invariants need.
    private struct Run {
        var generator: SeededGenerator
        var bench: CallBench
        let callees: [DeviceIdentity]
        let callers: [DeviceIdentity]
        var fault: String?
        var history: [String] = []
        var answeringDevices: Set<DeviceID> = []
        var lastSeq: UInt64 = 0
        var endings: [DeviceID: Int] = [:]
        var rung: Set<DeviceID> = []
        var hasEnded = false
        var ids: [String] = []

        init(seed: UInt64) throws {
            generator = SeededGenerator(seed: seed)
            let nameless = DeviceIdentity(unnamed: TokenFingerprint(rawValue: 5))
            callees = [
                try device("b1", fingerprint: 5), try device("b2"), try device("b3"),
                seed % 3 == 0 ? nameless : try device("b4"),
            ]
            callers =
                seed % 5 == 0 ? [nameless, try device("c-1")] : [try device("b1", fingerprint: 9), try device("a2")]
            bench = try CallBench(callees: [callees[0], callees[1]], caller: callers[0])
            rung = [callees[0].id, callees[1].id]
            lastSeq = bench.session.lastSeq
        }

        mutating func go(steps: Int) throws {
            for _ in 0..<steps where fault == nil {
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    bench.wait(Int64.random(in: 0...20, using: &generator))
                }
                let input = try anything()
                history.append("\(bench.now.milliseconds) \(input)")
                step(input)
                repeatOf(input)
                if Int.random(in: 0..<25, using: &generator) == 0, let again = bench.restarted(uncleanStarts: 1) {
                    history.append("restart")
                    bench.session = again
                }
            }
        }

        private mutating func anything() throws -> CallSession.Input {
            let side: Side = Bool.random(using: &generator) ? .caller : .callee
            let devices = side == .caller ? callers : callees
            let device = devices[Int.random(in: 0..<devices.count, using: &generator)]
            switch Int.random(in: 0..<24, using: &generator) {
            case 0: return .notified(callees[Int.random(in: 0..<callees.count, using: &generator)])
            case 1, 2: return .gone(device, side)
            case 3: return .seen(device, side)
            case 4: return .endDelivered(device, side)
            case 5: return .deadlineReached
            case 6: return Int.random(in: 0..<8, using: &generator) == 0 ? .foundBusy : .deadlineReached
            case 7: return Int.random(in: 0..<8, using: &generator) == 0 ? .replaced : .seen(device, side)
            case 8:
                return Int.random(in: 0..<8, using: &generator) == 0
                    ? .lostGlare(to: try call("a")) : .notified(callees[3])
            default: return .signal(try signal(), from: side, device)
            }
        }

        private mutating func signal() throws -> Signal {
            let digest = UInt64.random(in: 1...4, using: &generator)
            let content: Signal.Content =
                switch Int.random(in: 0..<14, using: &generator) {
                case 0, 1: .offer(offer(digest, namesCallee: Bool.random(using: &generator)))
                case 2: .ringing
                case 3: Bool.random(using: &generator) ? .ringing : .silenced(.focus)
                case 4, 5, 6: .answer(digest: digest)
                case 7: .ice
                case 8, 9: .connected
                case 10: .update(.init(hold: Bool.random(using: &generator)))
                case 11: .dtmf
                case 12: .info
                default: .end(EndReason.allCases.randomElement(using: &generator))
                }
            // One id in four was used before: a late resend, or another device that uses the same id.
            let name = Int.random(in: 0..<4, using: &generator) == 0 ? ids.randomElement(using: &generator) : nil
            let id = name ?? "s\(ids.count)"
            ids.append(id)
            let epoch: UInt32? = Int.random(in: 0..<12, using: &generator) == 0 ? 2 : nil
            return Signal(content, id: try CallCoreTests.signalID(id), epoch: epoch, byteCount: 10)
        }

        private mutating func step(_ input: CallSession.Input) {
            let before = bench.session
            let out = bench.give(input)
            if out.refusal != nil {
                if bench.session != before { fault = "a refused signal changed something" }
                if out.count != 1 { fault = "a refusal came with other outputs" }
            }
            if let answeringDevice = bench.session.answeringDevice { answeringDevices.insert(answeringDevice.id) }
            if answeringDevices.count > 1 { fault = "two answering devices: \(answeringDevices)" }
            for leg in bench.session.legs where leg.side == .callee { rung.insert(leg.device.id) }
            let inCall = bench.session.legs.filter { $0.side == .callee && $0.phase == .answered }
            if inCall.count > 1 { fault = "two devices of the callee are in the call" }
            for entry in out.entries { take(entry) }
            if hasEnded, before.isLive == false, !out.entries.isEmpty { fault = "an entry after the end" }
            if !bench.session.isLive { hasEnded = true } else if hasEnded { fault = "alive after the end" }
            if bench.session.log.count > Limits.logSignals + 8 { fault = "the log grows without bound" }
            if let deadline = bench.session.deadline, case .ended = bench.session.phase {
                fault = "an ended call waits for \(deadline)"
            }
        }

        private mutating func take(_ entry: LogEntry) {
            if entry.seq <= lastSeq { fault = "\(entry.seq) came after \(lastSeq)" }
            lastSeq = entry.seq
            guard case .state(let change) = entry.content, change.state == .ended else { return }
            for device in callees where rung.contains(device.id) {
                // Two device identities with one token may be one device, so both may see this entry.
                if bench.session.sees(entry, side: .callee, device: device) { endings[device.id, default: 0] += 1 }
            }
            for (device, count) in endings where count > 1 { fault = "\(device.text) was told \(count) ends" }
        }

        /// Hands in an input again; it must change nothing and emit nothing (I7).
        private mutating func repeatOf(_ input: CallSession.Input) {
            let before = bench.session
            let out = bench.give(input)
            if !out.entries.isEmpty || out.contains(.stopRinging) || out.contains(.changed) {
                fault = "repeated, \(input) had an effect: \(out)"
            }
            // A refused signal may now be refused for another reason, but nothing may change.
            if bench.session != before { fault = "repeated, \(input) changed the session" }
        }
    }

    @Test("Every device that was rung, and the caller's device, sees exactly one end", arguments: [1, 2])
    func endings(_ part: UInt64) throws {
        for number in 0..<1_000 {
            let seed = part << 40 | UInt64(number)
            var run = try Run(seed: seed)
            try run.go(steps: 20)
            run.bench.give(.replaced)
            for device in run.callees where run.rung.contains(device.id) && run.fault == nil {
                let count = run.bench.endings(.callee, device).count
                if count != 1 { run.fault = "\(device.id.text) sees \(count) ends" }
            }
            if run.bench.endings(.caller, run.bench.session.callerDevice).count != 1 { run.fault = "the caller" }
            if let fault = run.fault {
                Issue.record("seed \(seed): \(fault)\n\(run.history.suffix(12).joined(separator: "\n"))")
                return
            }
        }
    }
}
