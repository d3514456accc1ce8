import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// The users of a world with schedules.
extension ScheduleWorld {
    /// Registers a user's only device, whose push token is the user's id.
    func register(_ user: UserID) {
        guard let device = DeviceID("phone") else { return }
        let registration = DeviceRegistration(
            voipToken: user.text,
            bundleID: "com.example.app",
            platform: "ios",
            device: device,
            environment: nil
        )
        asks(.devices(.register(registration)), .other, by: user)
    }

    private func asks(_ asked: Switchboard.Request, _ kind: Request.Kind, by user: UserID) {
        requests.append(Request(user: user, asked: asked, kind: kind))
        after(draws.within(1...200), .request(requests.count - 1))
    }

    func requestArrives(_ index: Int) {
        guard switchboard != nil else { return lost(index) }
        requests[index].takenAt = moment.milliseconds
        let principal = Principal(user: requests[index].user, fingerprint: TokenFingerprint(rawValue: 1))
        switch requests[index].kind {
        case .confirm(let name): requests[index].occurrence = checker.newest[name]
        case .confirmCall(let call):
            requests[index].occurrence = checker.occurrence(of: call)
        case .schedule, .block, .other: break
        }
        serve(.requested(RequestID(rawValue: UInt64(index)), principal, requests[index].asked))
    }

    func replied(_ index: Int, status: Int) {
        log("server ⇒ \(requests[index].user.text): \(status)")
        statistics.mix(UInt64(status))
        requests[index].isOver = true
        guard let takenAt = requests[index].takenAt else { return }
        switch requests[index].kind {
        case .schedule(let name, let schedule):
            changing.remove(name)
            // After a refusal either schedule may hold: a stalled database refuses, and writes the change later.
            if status == 200 { checker.promised(schedule, of: name, since: takenAt) }
            // The server knows the date even while its clock is behind it.
            let date = takenAt + lead
            if status == 400, let schedule,
                !schedule.occurrences(after: date, through: date + 8 * SimulatedSchedule.dayLength).isEmpty
            {
                fail("\(name) was refused: \(schedule.body)")
            }
        case .confirm, .confirmCall:
            if status == 200, let occurrence = requests[index].occurrence { checker.confirmed(occurrence) }
        case .block(let isBlocked):
            blocking.remove(requests[index].user)
            if status == 200 { checker.blocked(isBlocked, by: requests[index].user, since: takenAt) }
        case .other: break
        }
    }

    private func lost(_ index: Int) {
        requests[index].isOver = true
        switch requests[index].kind {
        case .schedule(let name, _): changing.remove(name)
        case .block: blocking.remove(requests[index].user)
        case .confirm, .confirmCall, .other: break
        }
        // A device must be registered, or nothing rings.
        if case .devices(.register) = requests[index].asked { register(requests[index].user) }
    }

    /// Ends the requests that the server had when it went down: their users get no response.
    func endRequests() {
        for index in requests.indices where !requests[index].isOver && requests[index].takenAt != nil { lost(index) }
    }

    // MARK: Schedules

    func takeAction() {
        guard let user = draws.pick(users), let id = ScheduleID("s\(draws.below(2))") else { return }
        let name = ScheduleName(user: user, id: id)
        switch draws.below(10) {
        case 0:
            guard changing.insert(name).inserted else { return }
            log("\(user.text) ⇒ server: DELETE \(id.text)")
            checker.asked(nil, of: name)
            asks(.schedules(.remove(id), of: nil), .schedule(name, nil), by: user)
        case 1:
            log("\(user.text) ⇒ server: confirm \(id.text)")
            asks(.schedules(.confirm(id), of: nil), .confirm(name), by: user)
        case 2:
            guard let caller = UserID("wake"), blocking.insert(user).inserted else { return }
            checker.askedToBlock(by: user)
            let isBlocked = draws.percent(40)
            log("\(user.text) ⇒ server: \(isBlocked ? "block" : "unblock")")
            asks(.blocks(isBlocked ? .block(caller) : .unblock(caller)), .block(isBlocked), by: user)
        default:
            guard changing.insert(name).inserted else { return }
            let schedule = makeSchedule()
            // The server's own reader: that it refuses the body is the failure.
            guard let form = try? ScheduleForm(body: Array(schedule.body.utf8)) else {
                return fail("the server cannot read \(schedule.body)")
            }
            log("\(user.text) ⇒ server: PUT \(id.text) \(schedule.body)")
            checker.asked(schedule, of: name)
            asks(.schedules(.put(id, form), of: nil), .schedule(name, schedule), by: user)
        }
    }

    private func makeSchedule() -> SimulatedSchedule {
        let zone = draws.pick(SimulatedZone.all) ?? SimulatedZone(hours: 0)
        // Most are due within a few minutes, so that they ring before they are changed.
        let ahead = draws.percent(80) ? draws.within(20_000...300_000) : draws.within(0...86_400_000)
        let local = now + ahead + zone.offset
        let day = local / SimulatedSchedule.dayLength
        let minutes = local % SimulatedSchedule.dayLength / 60_000
        var schedule = SimulatedSchedule(minutes: minutes, zone: zone, ring: draws.within(5...40))
        if draws.percent(30) {
            schedule.day = day
        } else {
            schedule.weekdays = [(day + 3) % 7]
            for weekday in 0..<Int64(7) where draws.percent(60) { schedule.weekdays.insert(weekday) }
        }
        if draws.percent(60) { schedule.confirm = (draws.within(10...90), 1 + draws.below(4)) }
        return schedule
    }

    // MARK: Rings

    /// A push for a ring has reached the user's device.
    func pushArrives(_ token: String, _ call: CallID) {
        checker.pushed(call)
        guard !isHealed, let user = UserID(token) else { return }
        let first = draws.within(300...25_000)
        switch draws.below(8) {
        case 0, 1: break
        case 2: after(first, .reaction(user, call, .hangUp))
        case 3: after(first, .reaction(user, call, .confirm))
        case 4: after(first + draws.within(10_000...90_000), .reaction(user, call, .confirm))
        case 5: after(first, .reaction(user, call, .confirmByName))
        default:
            after(first, .reaction(user, call, .answer))
            if draws.percent(50) { after(first + draws.within(0...20_000), .reaction(user, call, .confirm)) }
            if draws.percent(70) { after(first + draws.within(0...60_000), .reaction(user, call, .hangUp)) }
        }
    }

    func perform(_ reaction: Reaction, in call: CallID, by user: UserID) {
        log("\(user.text) ⇒ server: \(reaction) \(call.text)")
        switch reaction {
        case .answer: signals("answer", "", .other, in: call, by: user)
        case .hangUp: signals("end", "", .other, in: call, by: user)
        case .confirm: signals("info", #","confirm":true"#, .confirmCall(call), in: call, by: user)
        case .confirmByName:
            guard let occurrence = checker.occurrence(of: call) else { return }
            asks(.schedules(.confirm(occurrence.name.id), of: nil), .confirm(occurrence.name), by: user)
        }
    }

    private func signals(_ type: String, _ members: String, _ kind: Request.Kind, in call: CallID, by user: UserID) {
        let id = "r\(requests.count)"
        let body =
            #"{"type":"\#(type)","id":"\#(id)","callId":"\#(call.text)","deviceId":"phone"\#(members)}"#
        do throws(WireError) {
            let message = try SignalMessage(body: Array(body.utf8), callIDInPath: nil, ringTimeout: .seconds(45))
            asks(.signal(message), kind, by: user)
        } catch { fail("the server cannot read \(body): \(error)") }
    }
}
