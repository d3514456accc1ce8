import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// A server with schedules, its database, and users who make schedules, answer, decline, confirm or sleep, in simulated
/// time.
///
/// Its users have no sockets: a push tells them of a ring, and they act by requests. The worlds of ``World``
/// simulate sockets, and have no schedules.
final class ScheduleWorld {
    let seed: UInt64
    let actionCount: Int
    let faults: Faults
    let isRecording: Bool

    var now = Course.startTime
    var events = EventQueue<Event>()
    var draws: SeededGenerator
    var faultDraws: SeededGenerator

    // The server's state.
    var switchboard: SwitchboardBox?
    /// A number that changes with each start and each stop of the server.
    var run = 0
    var store = Disk()
    var isStalled = false
    /// Since when the server and its database have been working, by the server's clock.
    var upSince: Int64 = .max
    /// How far the server's clock is ahead of `now`, in milliseconds; negative = behind.
    var serverAhead: Int64 = 0
    /// How far the server's date is ahead of its clock.
    var lead: Int64 = 0
    var timerAt: Int64?
    /// The schedules of one date that this start may leave as they are, since its clock may be wrong; `nil` = none.
    var hold: (dueBefore: Int64, until: Int64)?

    var requests: [Request] = []
    /// The schedules whose last change is under way.
    var changing: Set<ScheduleName> = []
    /// The users whose last block is under way.
    var blocking: Set<UserID> = []
    var users: [UserID] = []
    /// Whether users and faults are at rest, so that everything must come to its end.
    var isHealed = false

    var checker: ScheduleChecker
    var statistics = Statistics()
    var violation: Violation?
    var ladder: [String] = []

    enum Event {
        case start
        case timer(run: Int)
        case committed(run: Int)
        case report(run: Int, Switchboard.Input)
        case request(Int)
        case action
        case reaction(UserID, CallID, Reaction)
        case fault
        case recovers(run: Int)
        case clockSet(run: Int)
        case clockBelieved(run: Int)
        case audit
        case heal
        case finish
    }

    /// How a user reacts to a ring.
    enum Reaction {
        case answer
        case hangUp
        case confirm
        case confirmByName
    }

    /// A request of a user.
    struct Request {
        enum Kind {
            /// The schedule is made or replaced; `nil` = removed.
            case schedule(ScheduleName, SimulatedSchedule?)
            case confirm(ScheduleName)
            case confirmCall(CallID)
            case block(Bool)
            case other
        }

        let user: UserID
        let asked: Switchboard.Request
        let kind: Kind
        /// The server's clock when it took the request.
        var takenAt: Int64?
        /// The occurrence that the user confirms; `nil` = the request confirms none.
        var occurrence: ScheduleChecker.Occurrence?
        var isOver = false
    }

    init(seed: UInt64, actions: Int, faults: Faults, isRecording: Bool) {
        self.seed = seed
        actionCount = actions
        self.faults = faults
        self.isRecording = isRecording
        draws = SeededGenerator(seed: seed, stream: 30)
        faultDraws = SeededGenerator(seed: seed, stream: 31)
        checker = ScheduleChecker(clockLeaps: faults.contains(.leaps))
    }

    /// Runs the world to its end, or until I20 is broken.
    func live() {
        users = ["10", "11", "12"].prefix(1 + draws.below(3)).compactMap { UserID($0) }
        start()
        for user in users { register(user) }
        var at: Int64 = 1_000
        for _ in 0..<actionCount {
            at += draws.percent(10) ? draws.within(60_000...900_000) : draws.within(2_000...90_000)
            after(at, .action)
        }
        var fault: Int64 = 0
        while fault < at {
            fault += faultDraws.within(10_000...400_000)
            after(fault, .fault)
        }
        after(5_000, .audit)
        after(at + 60_000, .heal)
        while violation == nil, let next = events.takeNext() {
            now = max(now, next.at)
            statistics.steps += 1
            if case .finish = next.event { break }
            handle(next.event)
            if let message = checker.violation { fail(message) }
            if statistics.steps > 400_000 { fail("the world is not at rest after 400,000 steps") }
        }
        statistics.worlds = 1
        statistics.milliseconds = now - Course.startTime
        statistics.calls = checker.callCount
        statistics.mix(UInt64(statistics.steps))
    }

    func fail(_ message: String) {
        guard violation == nil else { return }
        log("I20 BROKEN: \(message)")
        violation = Violation(
            invariant: "I20",
            message: message,
            Scenario(seed: seed, calls: actionCount, faults: faults, hasSchedules: true, isRecording: isRecording)
        )
        violation?.ladder = ladder
    }

    func log(_ text: @autoclosure () -> String) {
        guard isRecording else { return }
        ladder.append(Ladder.line(text(), at: now - Course.startTime))
    }

    func after(_ milliseconds: Int64, _ event: Event) { events.plan(event, at: now + milliseconds) }

    /// The time of the server's clock.
    var moment: Moment { Moment(milliseconds: now + serverAhead) }

    private func handle(_ event: Event) {
        switch event {
        case .start: start()
        case .timer(let run):
            guard run == self.run else { return }
            timerAt = nil
            serve(.deadlineReached)
        case .committed(let run): if run == self.run { committed() }
        case .report(let run, let input): if run == self.run { serve(input) }
        case .request(let index): requestArrives(index)
        case .action: takeAction()
        case .reaction(let user, let call, let reaction): perform(reaction, in: call, by: user)
        case .fault: if !isHealed { fault() }
        case .recovers(let run): if run == self.run { recover() }
        case .clockSet(let run): if run == self.run { setClock() }
        case .clockBelieved(let run): if run == self.run { believeClock() }
        case .audit:
            if switchboard != nil, !isStalled { checker.audit(at: moment.milliseconds, upSince: upSince, hold: hold) }
            after(switchboard == nil ? 60_000 : 5_000, .audit)
        case .heal: heal()
        case .finish: break
        }
    }

    /// Ends the faults, and lets all users sleep: whatever was promised comes to its end.
    private func heal() {
        // A long time without a server belongs to the world.
        guard switchboard != nil else { return after(60_000, .heal) }
        log("—— everything works from now on, and all users sleep ——")
        isHealed = true
        recover()
        // Longer than a hold lasts.
        after(75 * 60_000, .finish)
    }
}
