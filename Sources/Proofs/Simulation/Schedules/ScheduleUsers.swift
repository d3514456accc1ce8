import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// The users of a world with schedules: they make schedules, answer, decline, confirm or sleep.
///
/// They have no sockets: a push tells them of a ring, and they act by requests.
final class ScheduleUsers: Part {
    private(set) var users: [UserID] = []
    private var all: [Request] = []
    /// The schedules whose last change is under way.
    private var changing: Set<ScheduleName> = []
    /// The users whose last block is under way.
    private var blocking: Set<UserID> = []
    /// Checks what becomes of the schedules (I20).
    var schedules: ScheduleChecker

    override init(_ course: Course) {
        schedules = ScheduleChecker(clockLeaps: course.scenario.faults.contains(.leaps))
        super.init(course)
    }

    func begin() {
        users = ["10", "11", "12"].prefix(1 + draws.network.below(3)).compactMap { UserID($0) }
        for user in users { register(user) }
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

    /// Registers a user's only device, whose push token is the user's id.
    func register(_ user: UserID) {
        guard let device = DeviceID("phone") else { return }
        let registration = DeviceRegistration(
            tokens: [.voip: .plain(user.text)],
            bundleID: "com.example.app",
            platform: "ios",
            device: device,
            environment: nil
        )
        asks(.devices(.register(registration)), .other, by: user)
    }

    private func asks(_ asked: Switchboard.Request, _ kind: Request.Kind, by user: UserID) {
        all.append(Request(user: user, asked: asked, kind: kind))
        after(draws.network.within(1...200), .schedule(.request(all.count - 1)))
    }

    /// Handles a request that reaches the server, and returns what it is.
    func arrived(_ index: Int) -> Switchboard.Input {
        all[index].takenAt = moment.milliseconds
        let principal = Principal(user: all[index].user, fingerprint: TokenFingerprint(rawValue: 1))
        switch all[index].kind {
        case .confirm(let name): all[index].occurrence = schedules.newest[name]
        case .confirmCall(let call):
            all[index].occurrence = schedules.occurrence(of: call)
        case .schedule, .block, .other: break
        }
        return .requested(RequestID(rawValue: UInt64(index)), principal, all[index].asked)
    }

    /// Handles the response of a server whose date is `lead` ahead of its clock.
    func replied(_ index: Int, status: Int, lead: Int64) {
        log("server ⇒ \(all[index].user.text): \(status)")
        statistics.mix(UInt64(status))
        all[index].isOver = true
        guard let takenAt = all[index].takenAt else { return }
        switch all[index].kind {
        case .schedule(let name, let schedule):
            changing.remove(name)
            // After a refusal either schedule may hold: a stalled database refuses, and writes the change later.
            if status == 200 { schedules.promised(schedule, of: name, since: takenAt) }
            // The server knows the date even while its clock is behind it.
            let date = takenAt + lead
            if status == 400, let schedule,
                !schedule.occurrences(after: date, through: date + 8 * SimulatedSchedule.dayLength).isEmpty
            {
                fail("I20", "\(name) was refused: \(schedule.body)")
            }
        case .confirm, .confirmCall:
            if status == 200, let occurrence = all[index].occurrence { schedules.confirmed(occurrence) }
        case .block(let isBlocked):
            blocking.remove(all[index].user)
            if status == 200 { schedules.blocked(isBlocked, by: all[index].user, since: takenAt) }
        case .other: break
        }
    }

    /// Ends a request without a response.
    func lost(_ index: Int) {
        all[index].isOver = true
        switch all[index].kind {
        case .schedule(let name, _): changing.remove(name)
        case .block: blocking.remove(all[index].user)
        case .confirm, .confirmCall, .other: break
        }
        // A device must be registered, or nothing rings.
        if case .devices(.register) = all[index].asked { register(all[index].user) }
    }

    /// Ends the requests that the server had when it went down: their users get no response.
    func endRequests() {
        for index in all.indices where !all[index].isOver && all[index].takenAt != nil { lost(index) }
    }

    // MARK: Schedules

    func takeAction() {
        guard let user = draws.network.pick(users), let id = ScheduleID("s\(draws.network.below(2))") else { return }
        let name = ScheduleName(user: user, id: id)
        switch draws.network.below(10) {
        case 0:
            guard changing.insert(name).inserted else { return }
            log("\(user.text) ⇒ server: DELETE \(id.text)")
            schedules.asked(nil, of: name)
            asks(.schedules(.remove(id), of: nil), .schedule(name, nil), by: user)
        case 1:
            log("\(user.text) ⇒ server: confirm \(id.text)")
            asks(.schedules(.confirm(id), of: nil), .confirm(name), by: user)
        case 2:
            guard let caller = UserID("wake"), blocking.insert(user).inserted else { return }
            schedules.askedToBlock(by: user)
            let isBlocked = draws.network.percent(40)
            log("\(user.text) ⇒ server: \(isBlocked ? "block" : "unblock")")
            asks(.blocks(isBlocked ? .block(caller) : .unblock(caller)), .block(isBlocked), by: user)
        default:
            guard changing.insert(name).inserted else { return }
            let schedule = makeSchedule()
            // The server's own reader: that it refuses the body is the failure.
            guard let form = try? ScheduleForm(body: Array(schedule.body.utf8)) else {
                return fail("I20", "the server cannot read \(schedule.body)")
            }
            log("\(user.text) ⇒ server: PUT \(id.text) \(schedule.body)")
            schedules.asked(schedule, of: name)
            asks(.schedules(.put(id, form), of: nil), .schedule(name, schedule), by: user)
        }
    }

    private func makeSchedule() -> SimulatedSchedule {
        let zone = draws.network.pick(SimulatedZone.all) ?? SimulatedZone(hours: 0)
        // Most are due within a few minutes, so that they ring before they are changed.
        let ahead =
            draws.network.percent(80) ? draws.network.within(20_000...300_000) : draws.network.within(0...86_400_000)
        let local = now + ahead + zone.offset
        let day = local / SimulatedSchedule.dayLength
        let minutes = local % SimulatedSchedule.dayLength / 60_000
        var schedule = SimulatedSchedule(minutes: minutes, zone: zone, ring: draws.network.within(5...40))
        if draws.network.percent(30) {
            schedule.day = day
        } else {
            schedule.weekdays = [(day + 3) % 7]
            for weekday in 0..<Int64(7) where draws.network.percent(60) { schedule.weekdays.insert(weekday) }
        }
        if draws.network.percent(60) { schedule.confirm = (draws.network.within(10...90), 1 + draws.network.below(4)) }
        return schedule
    }

    // MARK: Rings

    /// A push for a ring has reached the user's device.
    func pushed(_ token: String, _ call: CallID) {
        schedules.pushed(call)
        guard !isHealed, let user = UserID(token) else { return }
        let first = draws.network.within(300...25_000)
        switch draws.network.below(8) {
        case 0, 1: break
        case 2: after(first, .schedule(.reaction(user, call, .hangUp)))
        case 3: after(first, .schedule(.reaction(user, call, .confirm)))
        case 4: after(first + draws.network.within(10_000...90_000), .schedule(.reaction(user, call, .confirm)))
        case 5: after(first, .schedule(.reaction(user, call, .confirmByName)))
        default:
            after(first, .schedule(.reaction(user, call, .answer)))
            if draws.network.percent(50) {
                after(first + draws.network.within(0...20_000), .schedule(.reaction(user, call, .confirm)))
            }
            if draws.network.percent(70) {
                after(first + draws.network.within(0...60_000), .schedule(.reaction(user, call, .hangUp)))
            }
        }
    }

    func perform(_ reaction: Reaction, in call: CallID, by user: UserID) {
        log("\(user.text) ⇒ server: \(reaction) \(call.text)")
        switch reaction {
        case .answer: signals("answer", "", .other, in: call, by: user)
        case .hangUp: signals("end", "", .other, in: call, by: user)
        case .confirm: signals("info", #","confirm":true"#, .confirmCall(call), in: call, by: user)
        case .confirmByName:
            guard let occurrence = schedules.occurrence(of: call) else { return }
            asks(.schedules(.confirm(occurrence.name.id), of: nil), .confirm(occurrence.name), by: user)
        }
    }

    private func signals(_ type: String, _ members: String, _ kind: Request.Kind, in call: CallID, by user: UserID) {
        let id = "r\(all.count)"
        let body =
            #"{"type":"\#(type)","id":"\#(id)","callId":"\#(call.text)","deviceId":"phone"\#(members)}"#
        do throws(WireError) {
            let message = try SignalMessage(body: Array(body.utf8), callIDInPath: nil, ringTimeout: .seconds(45))
            asks(.signal(message), kind, by: user)
        } catch { fail("I20", "the server cannot read \(body): \(error)") }
    }
}
