import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// Something that happens around the decisions of the app's backend.
enum DeciderEvent {
    /// It does not work for a while.
    case outage
    /// Callers of the crowd call.
    case wave
}

/// The app's backend as it decides about offers, often badly; and a crowd of callers who give it work.
final class Decider: Part {
    let plan: DeciderPlan
    var crowd = DecisionCrowd()
    /// Until when it does not work, and whether it is silent then.
    private var outage: (until: Int64, isSilent: Bool) = (0, false)

    init(_ course: Course, _ plan: DeciderPlan) {
        self.plan = plan
        super.init(course)
        checker.decisions = DecisionWatch(plan.policy)
    }

    /// Plans the outages, and the first wave of the crowd.
    func begin() {
        let span = Int64(scenario.callCount) * 5_000 + 10_000
        if let every = plan.outageEvery {
            var at = draws.decider.within(0...every)
            while at < span {
                after(at, .backend(.decider(.outage)))
                at += draws.decider.within(every / 2...every * 2)
            }
        }
        if let every = plan.waveEvery {
            var at = draws.decider.within(1_000...every + 1_000)
            while at < span {
                after(at, .backend(.decider(.wave)))
                at += draws.decider.within(every / 2...every * 2)
            }
        }
    }

    func happens(_ event: DeciderEvent) {
        guard !isHealed else { return }
        switch event {
        case .outage:
            let isShort = draws.decider.percent(60)
            let span = isShort ? draws.decider.within(500...8_000) : draws.decider.within(8_000...40_000)
            outage = (now + span, draws.decider.percent(40))
            log("the backend decides nothing for \(span) ms\(outage.isSilent ? ", and is silent" : "")")
        case .wave: beginWave()
        }
    }

    // MARK: Questions

    /// Notes a question that a server sends, and returns after how many milliseconds it arrives.
    func ordered(_ question: DecisionRequest) -> Int64 {
        statistics.questions += 1
        log("server ⇢ backend: question \(question.id.rawValue) \(String(decoding: question.body, as: UTF8.self))")
        return draws.decider.within(1...20)
    }

    /// Handles a question that has arrived; `respond` plans a result after a number of milliseconds.
    func arrived(_ question: DecisionRequest, respond: (DecisionAnswer, Int64) -> Void) {
        let answer = answer(to: question)
        log("backend: \(question.id.rawValue) is \(answer.meaning)")
        let timeout = question.timeout.milliseconds
        let isFast = draws.decider.percent(90)
        let delay = isFast ? draws.decider.within(1...min(80, timeout / 2)) : draws.decider.within(1...timeout * 2)
        let isSilent = now < outage.until && outage.isSilent || isHopeless(question) && draws.decider.percent(30)
        if isSilent || !isHealed && draws.decider.percent(plan.failShare / 3) {
            // The adapter gives up at about the moment at which the server does; some adapters say nothing.
            if draws.decider.percent(70) {
                let given = DecisionAnswer(result: .unreachable("there was no response in time"), meaning: .unreachable)
                respond(given, max(1, timeout + draws.decider.within(-40...60)))
            }
            if draws.decider.percent(30) { respond(answer, timeout + draws.decider.within(20...20_000)) }
            return
        }
        respond(answer, delay)
        if draws.decider.percent(6) { respond(self.answer(to: question), delay + draws.decider.within(0...3_000)) }
    }

    private func isHopeless(_ question: DecisionRequest) -> Bool {
        guard let user = plan.faultyUser, !isHealed else { return false }
        return MessageReader.object(question.body)?.text(of: Key("caller")) == user.text
    }

    private func answer(to question: DecisionRequest) -> DecisionAnswer {
        if now < outage.until || isHopeless(question) { return failure() }
        if !isHealed, draws.decider.percent(plan.failShare) {
            return draws.decider.percent(50) ? failure() : malformed()
        }
        let share = draws.decider.below(100)
        if !isHealed, share < plan.shares.refused { return refusal() }
        if !isHealed, share < plan.shares.refused + plan.shares.hidden {
            let code = draws.decider.percent(50) ? "blocked_by_crm" : nil
            let said = code.map { #","code":"\#($0)""# } ?? ""
            return response(#"{"allow":false,"show":"nothing"\#(said)}"#, .hidden(code: code))
        }
        guard draws.decider.percent(plan.shares.changed) else {
            return response(#"{"allow":true}"#, .allowed(DecisionChanges()))
        }
        return change()
    }

    private func failure() -> DecisionAnswer {
        if draws.decider.percent(50) {
            return DecisionAnswer(result: .unreachable("the connection was refused"), meaning: .unreachable)
        }
        let status = [500, 502, 503, 504, 599][draws.decider.below(5)]
        return DecisionAnswer(result: .response(status: status, body: Array("oops".utf8)), meaning: .unreachable)
    }

    /// Draws a response that the protocol does not know; one that says `"allow":false` refuses all the same.
    private func malformed() -> DecisionAnswer {
        let bodies = [
            "", "<html>", "[]", "{", #"{"allow":"yes"}"#, #"{"allow":true,"to":["12"]}"#, #"{"allow":null}"#,
            #"{"allow":true,"ringTimeout":"30"}"#, #"{"allow":true,"ringTimeout":100000}"#,
            #"{"allow":true,"displayName":7}"#,
            #"{"allow":true,"handleType":"fax","handle":"1"}"#, #"{"allow":false,"show":"all"}"#,
            #"{"allow":false,"code":"not a word"}"#, #"{"allow":false,"message":{}}"#,
        ]
        let body = bodies[draws.decider.below(bodies.count)]
        let status = [200, 200, 200, 201, 302, 404, 429][draws.decider.below(7)]
        guard status == 200 else {
            let body = Array(#"{"allow":true}"#.utf8)
            return DecisionAnswer(result: .response(status: status, body: body), meaning: .malformed)
        }
        return response(body, body.hasPrefix(#"{"allow":false"#) ? .refused(code: nil) : .malformed)
    }

    private func refusal() -> DecisionAnswer {
        let code = draws.decider.percent(60) ? ["not_a_contact", "closed", "A.b-7"][draws.decider.below(3)] : nil
        let said = code.map { #","code":"\#($0)""# } ?? ""
        let show = draws.decider.percent(50) ? #","show":"refused""# : ""
        return response(#"{"allow":false\#(said)\#(show),"message":"not now"}"#, .refused(code: code))
    }

    private func change() -> DecisionAnswer {
        var changes = DecisionChanges()
        var text = #"{"allow":true"#
        if draws.decider.percent(60) {
            let name = "Dr Kim \(draws.decider.below(100))"
            changes.displayName = name
            text += #","displayName":"\#(name)""#
        }
        if draws.decider.percent(40) {
            text += #","handle":"+8210\#(draws.decider.below(1_000))","handleType":"phoneNumber""#
        }
        if draws.decider.percent(50) {
            changes.ringSeconds = draws.decider.within(5...25)
            text += ",\"ringTimeout\":\(changes.ringSeconds ?? 0)"
        }
        if draws.decider.percent(10) { text += #","mood":"good""# }
        return response(text + "}", .allowed(changes))
    }

    private func response(_ text: String, _ meaning: DecisionMeaning) -> DecisionAnswer {
        DecisionAnswer(result: .response(status: 200, body: Array(text.utf8)), meaning: meaning)
    }
}
