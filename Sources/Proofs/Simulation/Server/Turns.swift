import CallCore
import CallPorts
import CallTrace
import CallWire
import SeededRandom
import Switchboard

/// The switchboard that decides and its turns, as a gateway has them.
///
/// Everything that the switchboard orders passes the checker, and is then carried out by the server under test.
final class Turns: Part {
    /// The server whose turns these are; it outlives them.
    unowned var server: (any ServerUnderTest)?
    private(set) var switchboard: SwitchboardBox?
    /// A number that changes with each start and each stop of the server.
    private(set) var run = 0
    private var timerAt: Int64?
    private var outputs: [Switchboard.Output] = []
    private var isFlushPlanned = false
    var isStoreStalled = false
    /// The moment at which the store last recovered, in milliseconds.
    private(set) var storeRecoveredAt: Int64 = .min

    // MARK: Runs

    func begin(_ switchboard: SwitchboardBox) {
        run += 1
        isStoreStalled = false
        timerAt = nil
        isFlushPlanned = false
        self.switchboard = switchboard
        checker.decisions?.restarted()
    }

    /// Makes the switchboard of a run from what is stored.
    func makeSwitchboard(_ stored: StoredState, random: SeededGenerator, at moment: Moment) -> SwitchboardBox {
        SwitchboardBox(
            Switchboard(policy: policy, stored: stored, ports: ports(random), at: moment)
        )
    }

    private func ports(_ random: SeededGenerator) -> Switchboard.Ports {
        .init(
            capabilities: Capabilities(),
            timeZones: scenario.hasSchedules ? SimulatedZones() : nil,
            random: random
        )
    }

    /// Ends the present run: nothing of it counts any more.
    func end() {
        switchboard = nil
        run += 1
        checker.decisions?.restarted()
    }

    /// Notes that the store can write again.
    func storeRecovered() {
        isStoreStalled = false
        storeRecoveredAt = now
    }

    private var policy: Policy {
        var policy = Policy()
        policy.callsPerMinute = 60
        // The limits of rings are switched off, because a refused ring is not a state of a call. Unit tests cover these
        // limits.
        policy.ringsPerPair = 0
        policy.ringsPerCallee = 0
        // The simulator's calls are small: with this value their replays take several slices.
        if draws.serverSeed % 3 == 0 { policy.replaySlice = 500 }
        if draws.serverSeed % 4 == 0 { policy.whenBusy = .busy }
        // With these values a burst makes its senders wait, and its replay takes several slices.
        if faults.contains(.bursts) {
            policy.backlogBytes = draws.serverSeed % 2 == 0 ? 24 * 1_024 : 96 * 1_024
            policy.replaySlice = 8 * 1_024
        }
        policy.pushKinds = Set(PushKind.allCases)
        policy.pushServices = PushService.all
        policy.applicationServerKey = "B"
        policy.withholdsDecisions = faults.contains(.withholding)
        policy.marksLogs = scenario.hasNodes
        if scenario.hasBackend { policy.events = BackendPlan(seed: scenario.seed, faults: faults).policy }
        if let plan = DeciderPlan(scenario) {
            policy.decisions = plan.policy
            if plan.namesCallers { policy.callerName = .decision }
        }
        return policy
    }

    // MARK: Inputs

    func pushResult(_ run: Int, _ id: PushID, _ result: PushResult) {
        guard run == self.run, switchboard != nil else { return }
        log("APNs ~ server: push \(id.rawValue) \(result)")
        checker.pushResulted(id, result)
        serve(.pushed(id, result), repeatable: draws.pushes.percent(5))
    }

    /// Lets an operator demand that events are delivered again.
    func resend(_ resend: EventDeliveries.Resend) {
        serve(.operatorCommand(OperatorCommandID(rawValue: 1 << 40), .resendEvents(resend)))
    }

    /// Passes the result of a delivery of an event to the run that has sent it; some results come twice.
    func delivered(_ run: Int, _ id: DeliveryID, _ result: DeliveryResult) {
        guard run == self.run, switchboard != nil else { return }
        serve(.delivered(id, result), repeatable: draws.backend.percent(5))
    }

    /// Passes an answer of the app's backend to the run that has asked; some come twice.
    func decided(_ run: Int, _ id: DecisionID, _ answer: DecisionAnswer) {
        guard run == self.run, switchboard != nil else { return }
        checker.decisions?.answered(id, answer.meaning, at: now)
        serve(.decided(id, answer.result), repeatable: draws.decider.percent(5))
    }

    /// Passes one input to the switchboard and performs its outputs.
    ///
    /// If `repeatable`, passes the input again, which must change nothing (I7).
    func serve(_ input: Switchboard.Input, repeatable: Bool = false) {
        guard let switchboard else { return }
        if case .deadlineReached = input { checker.decisions?.deadlineReached(moment, at: now) }
        switchboard.handle(input, at: moment, into: &outputs)
        performAll()
        if repeatable {
            flush()
            switchboard.handle(input, at: moment, into: &outputs)
            switchboard.flush(at: moment, into: &outputs)
            let again = outputs
            outputs.removeAll(keepingCapacity: true)
            checkRepeat(again)
        }
        // The gateway commits once per turn, and a turn may have several inputs.
        if scenario.hasSchedules || draws.network.percent(70) {
            flush()
        } else if !isFlushPlanned {
            isFlushPlanned = true
            after(0, .flush(run: run))
        }
        planTimer()
        server?.turnEnded()
    }

    /// Checks the outputs of a repeated input: its sender may get a response, but nothing may be relayed, pushed or
    /// appended.
    private func checkRepeat(_ batch: [Switchboard.Output]) {
        for output in batch {
            switch output {
            case .send(_, let frame):
                guard let object = MessageReader.object(inFrame: frame),
                    let type = object.text(of: .type), type != "ack", type != "error"
                else { continue }
                fail("I7", "a repeated frame was relayed again: \(type)")
            case .reply: perform([output])
            case .push: fail("I7", "a repeated input ordered a push")
            case .commit(let changes, _):
                for change in changes {
                    switch change {
                    // The offer began no call that a repeat could change: it is refused once more, and that is kept.
                    case .call(let record) where record.hidden == .refusedOffer: break
                    case .call(let record): fail("I7", "a repeated input changed the call \(record.id.text)")
                    case .entry(_, let entry): fail("I7", "\(entry.entry.content) was appended again")
                    default: break
                    }
                }
                perform([output])
            case .ask(let request): fail("I7", "a repeated input asked question \(request.id.rawValue)")
            case .deliver(let request): fail("I7", "a repeated input sent \(request.eventID)")
            case .marked, .bound, .ping, .close, .verify, .submit, .cancelPush, .revoked, .done, .audit, .note, .trace:
                break
            }
        }
    }

    func flush() {
        guard let switchboard else { return }
        switchboard.flush(at: moment, into: &outputs)
        performAll()
        checker.flushed()
        planTimer()
    }

    /// Wakes the server at its deadline, unless another run of it has planned the timer.
    func timerFires(_ run: Int) {
        // A timer that was planned before an earlier deadline: each would plan another one, and in the hours for which a
        // backend may be waited for there would be more and more of them.
        if scenario.hasBackend, let timerAt, timerAt > now { return }
        timerAt = nil
        guard run == self.run else { return }
        guard server?.decides == true else {
            // A node that stands still goes on later; nothing else may wake it while only a backend is waited for.
            if scenario.hasBackend {
                timerAt = now + 1_000
                plan(.serverTimer(run: run), at: now + 1_000)
            }
            return
        }
        serve(.deadlineReached)
    }

    /// Ends the turn of a run of the server, if that run still goes on.
    func flushIsDue(_ run: Int) {
        guard run == self.run else { return }
        isFlushPlanned = false
        guard server?.isStopped == false else { return }
        flush()
        server?.flushed()
    }

    func planTimer() {
        guard let deadline = (switchboard?.deadline?.milliseconds).map({ $0 - course.serverAhead }) else { return }
        if let timerAt, timerAt <= deadline { return }
        timerAt = deadline
        // A timer may be late, but never early.
        plan(.serverTimer(run: run), at: max(now, deadline) + draws.network.within(0...5))
    }

    /// Performs the switchboard's outputs, and keeps their buffer for the next ones.
    private func performAll() {
        guard !outputs.isEmpty else { return }
        var batch: [Switchboard.Output] = []
        swap(&batch, &outputs)
        perform(batch)
        guard outputs.isEmpty else { return }
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &outputs)
    }

    /// Checks and notes what the switchboard orders, and lets the server carry it out.
    private func perform(_ batch: [Switchboard.Output]) {
        for output in batch {
            switch output {
            case .commit(let changes, let ticket):
                checker.checkDecided(changes, at: now)
                for change in changes { recordChange(change) }
                checker.queued(changes, as: ticket)
                checker.durability.queued(changes, as: ticket, calls: checker.calls)
            case .ask(let question): checker.asked(question, at: moment)
            case .push(let push): if faults.contains(.withholding) { checker.checkDurable(push) }
            case .cancelPush(let id): checker.cancelled(id)
            case .note(let note): logNote(note)
            default: break
            }
            server?.carryOut(output)
        }
    }

    private func recordChange(_ change: Change) {
        let transition = checker.apply(change, at: now)
        if let begun = transition.begun {
            for delay in [scenario.deliveryTime, 7_000, 14_000, 30_000] {
                after(delay, .checkDelivery(begun.key, epoch: begun.epoch, number: begun.number))
            }
        }
        if let ended = transition.ended { statistics.endings[ended.rawValue, default: 0] += 1 }
    }

    private func logNote(_ note: Switchboard.Note) {
        switch note {
        case .began(let id, let epoch): log("server: call \(id.text)/\(epoch) begins")
        case .ended(let id, let epoch, let reason): log("server: call \(id.text)/\(epoch) ended, \(reason.rawValue)")
        case .schedulesPlanned, .unknownTimeZone, .unknownName: break
        case .unreadable(let number): fail("I4", "call number \(number.rawValue) was stored and cannot be read")
        case .events(let note): log("server: \(note)")
        case .eventsLost(let count): log("server: \(count) events are lost")
        case .decided(let id, let outcome, _, _): log("server: the backend's decision about \(id.text): \(outcome)")
        case .decisionMalformed(let why): log("server: the backend's response \(why)")
        case .decisionsFail: log("server: the backend is asked nothing for a while")
        case .decisionsSucceed: log("server: the backend decides again")
        case .pushFailed, .storeStalled, .storeRecovered, .storeBehind, .oddClock, .damaged: break
        }
    }
}
