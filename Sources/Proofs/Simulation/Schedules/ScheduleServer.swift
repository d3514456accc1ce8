import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// Something that happens in a world with schedules.
enum ScheduleEvent {
    case request(Int)
    case action
    case reaction(UserID, CallID, ScheduleUsers.Reaction)
    case fault
    case clockSet(run: Int)
    case clockBelieved(run: Int)
    case audit
    case heal
}

/// The server of a world with schedules, whose clock may leap far and whose downtimes may be long.
final class ScheduleServer: OneServer {
    let users: ScheduleUsers
    /// Since when the server and its database have been working, by the server's clock.
    private var upSince: Int64 = .max
    /// How far the server's date is ahead of its clock.
    private var lead: Int64 = 0
    /// The schedules of one date that this start may leave as they are, since its clock may be wrong; `nil` = none.
    private var hold: (dueBefore: Int64, until: Int64)?

    init(_ turns: Turns, _ network: Network, _ requests: Requests, _ pushes: PushServices, for users: ScheduleUsers) {
        self.users = users
        super.init(turns, network, requests, pushes)
    }

    /// Plans what users do and what goes wrong.
    func plan() {
        users.begin()
        var at: Int64 = 1_000
        for _ in 0..<scenario.callCount {
            at +=
                draws.network.percent(10)
                ? draws.network.within(60_000...900_000) : draws.network.within(2_000...90_000)
            after(at, .schedule(.action))
        }
        var fault: Int64 = 0
        while fault < at {
            fault += draws.faults.within(10_000...400_000)
            after(fault, .schedule(.fault))
        }
        after(5_000, .schedule(.audit))
        after(at + 60_000, .schedule(.heal))
    }

    func happens(_ event: ScheduleEvent) {
        switch event {
        case .request(let index):
            if turns.switchboard == nil { users.lost(index) } else { turns.serve(users.arrived(index)) }
        case .action: users.takeAction()
        case .reaction(let user, let call, let reaction): users.perform(reaction, in: call, by: user)
        case .fault: injectAny()
        case .clockSet(let run): if run == turns.run { correctClock() }
        case .clockBelieved(let run): if run == turns.run { believeClock() }
        case .audit: audit()
        case .heal: heal()
        }
        if let message = users.schedules.violation { fail("I20", message) }
    }

    private func audit() {
        let isUp = turns.switchboard != nil
        if isUp, !turns.isStoreStalled {
            users.schedules.audit(at: moment.milliseconds, upSince: upSince, hold: hold)
        }
        after(isUp ? 5_000 : 60_000, .schedule(.audit))
    }

    /// Ends the faults, and lets all users sleep: whatever was promised comes to its end.
    private func heal() {
        // A long time without a server belongs to the world.
        guard turns.switchboard != nil else { return after(60_000, .schedule(.heal)) }
        log("—— everything works from now on, and all users sleep ——")
        course.isHealed = true
        recover()
        // Longer than a hold lasts.
        after(75 * 60_000, .finish)
    }

    private func injectAny() {
        guard !isHealed, turns.switchboard != nil else { return }
        switch draws.faults.below(4) {
        case 0 where faults.contains(.store): stall()
        case 1 where faults.contains(.restarts): stopInOrder()
        case 2, 3: if faults.contains(.crashes) { crash() }
        default: break
        }
    }

    // MARK: The clock

    override func setClock() {
        // A start takes the time of the wall clock.
        course.serverAhead += lead
        lead = 0
        if faults.contains(.leaps), draws.faults.percent(50) {
            course.serverAhead =
                draws.faults.percent(50)
                ? draws.faults.within(-90_000...90_000) : draws.faults.within(-9_000_000...9_000_000)
        }
        guard course.serverAhead != 0, draws.faults.percent(60) else { return }
        after(draws.faults.within(1_000...600_000), .schedule(.clockSet(run: turns.run + 1)))
    }

    override func started(with stored: StoredState) {
        upSince = moment.milliseconds
        let records = stored.schedules.map(\.createdAt) + stored.blocks.map(\.at)
        let newest = (stored.devices.map(\.seenAt) + [stored.lastCallAt].compactMap(\.self) + records).max()
        let isOdd = newest.map { $0.milliseconds + SimulatedSchedule.dayLength < upSince } ?? false
        hold = isOdd ? (upSince - 60_000, upSince + 3_675_000) : nil
        turns.serve(.deadlineReached)
    }

    /// Sets the wall clock right; the server believes it after a minute.
    private func correctClock() {
        log("wall clock set by \(-course.serverAhead / 1_000) s")
        turns.serve(.wallClock(WallClock(lead: .milliseconds(0), isSteady: false, agrees: false)))
        after(60_000, .schedule(.clockBelieved(run: turns.run)))
    }

    private func believeClock() {
        lead = -course.serverAhead
        log("the date is believed to be \(lead / 1_000) s ahead of the server's clock")
        let corrected = Moment.Duration.milliseconds(lead)
        turns.serve(.wallClock(WallClock(lead: corrected, corrected: corrected, isSteady: true, agrees: false)))
    }

    // MARK: What users see, and what is durable

    override func respond(_ reply: Reply, to index: Int) { users.replied(index, status: reply.status, lead: lead) }

    override func order(_ push: OutgoingPush) {
        super.order(push)
        statistics.mix(push.id.rawValue)
        if let call = push.call { users.pushed(push.route.token, call) }
    }

    override func pushArrives(_ push: OutgoingPush, _ run: Int) {
        let accepted = PushResult.response(status: 200, reason: nil, timestamp: nil)
        turns.pushResult(run, push.id, accepted)
    }

    override func durable(_ batches: [[Change]], upTo ticket: Ticket) {
        super.durable(batches, upTo: ticket)
        users.schedules.durable(batches.flatMap(\.self))
        if let message = users.schedules.violation { fail("I20", message) }
    }

    override func recover() {
        if turns.isStoreStalled { upSince = moment.milliseconds }
        super.recover()
    }

    override func stallTime() -> Int64 {
        draws.faults.percent(70) ? draws.faults.within(200...5_000) : draws.faults.within(5_000...200_000)
    }

    override func goDown() {
        super.goDown()
        users.endRequests()
    }

    override func downtime(afterCrash: Bool) -> Int64 {
        guard faults.contains(.offline), !draws.faults.percent(60) else { return draws.faults.within(50...4_000) }
        return draws.faults.percent(70)
            ? draws.faults.within(4_000...200_000) : draws.faults.within(200_000...200_000_000)
    }
}
