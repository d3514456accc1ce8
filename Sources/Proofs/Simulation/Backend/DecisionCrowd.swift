import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// Callers without devices, who post offers by the dozen: they fill the bounds of decisions, and hit the breaker.
struct DecisionCrowd {
    /// An offer that waits for its response.
    struct Waiting {
        let caller: UserID
        let callID: CallID
        /// The run of the server that has the request.
        let run: Int
        /// Whether the caller has ended the call, or the request is not an offer.
        var isOver: Bool
        /// The question about its offer that was open when a candidate came; `nil` = none, or no candidate.
        let question: DecisionID?
    }

    /// The requests on their way or at the server.
    var waiting: [RequestID: Waiting] = [:]
    /// The calls whose caller has ended them: an offer that is sent again comes too late.
    var ended: Set<CallID> = []
    /// The number of the newest call and of the newest request.
    var calls = 0
    var requests: UInt64 = 0
}

extension Decider {
    /// The numbers of the crowd's requests begin after this one; no other request has one.
    private static let firstRequest: UInt64 = 1 << 42

    /// Whether the crowd has made a request.
    static func isOfCrowd(_ id: RequestID) -> Bool { id.rawValue > firstRequest }

    /// Lets some of the crowd call, several times each.
    func beginWave() {
        let count = draws.decider.below(plan.crowd) + 1
        let isBusy = draws.decider.percent(50)
        for number in 0..<count {
            guard let caller = UserID("s\((number + (isBusy ? 0 : draws.decider.below(9))) % 9)") else { continue }
            for _ in 0..<(isBusy ? 2 + draws.decider.below(5) : 1) { call(from: caller) }
        }
    }

    private func call(from caller: UserID) {
        crowd.calls += 1
        let callee = draws.decider.percent(85) ? "t\(draws.decider.below(20))" : ["10", "11"][draws.decider.below(2)]
        guard let id = CallID("crowd-\(crowd.calls)") else { return }
        let at = draws.decider.within(0...30)
        let sdp = #"v=0\r\no=- \#(course.nextNumber()) 1 IN IP4 0.0.0.0\r\n"#
        let offer = #""to":"\#(callee)","data":{"sdp":"\#(sdp)","ringTimeout":5}"#
        post("offer", "o\(crowd.calls)", offer, id, caller, after: at)
        // A client that has no response yet sends the offer again, under the same id.
        if draws.decider.percent(25) {
            post("offer", "o\(crowd.calls)", offer, id, caller, after: at + draws.decider.within(1...400))
        }
        if draws.decider.percent(20) {
            let line = "candidate:\(course.nextNumber()) 1 udp 1 0.0.0.0 9 typ host"
            let candidate = #""to":"\#(callee)","data":{"candidate":{"candidate":"\#(line)"}}"#
            post("ice", "i\(crowd.calls)", candidate, id, caller, after: at + draws.decider.within(1...200))
        }
        let ends = draws.decider.percent(35) ? draws.decider.within(1...1_500) : draws.decider.within(2_000...4_000)
        if draws.decider.percent(90) {
            post("end", "e\(crowd.calls)", #""to":"\#(callee)","data":{}"#, id, caller, after: at + ends)
        }
    }

    private func post(
        _ action: String,
        _ id: String,
        _ rest: String,
        _ callID: CallID,
        _ caller: UserID,
        after delay: Int64
    ) {
        crowd.requests += 1
        let text = #"{"action":"\#(action)","id":"\#(id)","deviceId":"d-\#(caller.text)",\#(rest)}"#
        let request = CrowdRequest(
            id: RequestID(rawValue: Self.firstRequest + crowd.requests),
            caller: caller,
            callID: callID,
            isOffer: action == "offer",
            body: Array(text.utf8)
        )
        after(delay, .crowd(request))
    }

    /// Notes a request that a run of the server gets, and returns it as the server reads it; `nil` = it is not read.
    func reached(_ request: CrowdRequest, run: Int) -> (Principal, Switchboard.Request)? {
        guard !isHealed,
            // The crowd writes its requests itself, and needs no response to one that could not be read.
            let message = try? SignalMessage(
                body: request.body,
                callIDInPath: request.callID,
                ringTimeout: .seconds(45)
            )
        else { return nil }
        log("\(request.caller.text) ⇒ server: POST \(String(decoding: request.body, as: UTF8.self))")
        crowd.waiting[request.id] = DecisionCrowd.Waiting(
            caller: request.caller,
            callID: request.callID,
            run: run,
            isOver: !request.isOffer || crowd.ended.contains(request.callID),
            question: message.signal.kind == .ice && !crowd.ended.contains(request.callID)
                ? checker.decisions?.openQuestion(about: request.callID, from: request.caller) : nil
        )
        if message.signal.kind == .end {
            crowd.ended.insert(request.callID)
            for (id, other) in crowd.waiting where other.caller == request.caller && other.callID == request.callID {
                crowd.waiting[id]?.isOver = true
            }
        }
        checker.endArrives(message, from: request.caller, DeviceID("d-\(request.caller.text)"))
        after(60_000 + plan.policy.timeout.milliseconds, .crowdLooks(request.id))
        let number = UInt64(request.caller.text.dropFirst()) ?? 0
        let principal = Principal(user: request.caller, fingerprint: TokenFingerprint(rawValue: 10_000 + number))
        return (principal, .signal(message))
    }

    /// Checks the response to a request of the crowd.
    func replied(_ reply: Reply, to id: RequestID) {
        guard let waiting = crowd.waiting.removeValue(forKey: id) else { return }
        log("server ⇒ \(waiting.caller.text): \(reply.status) for \(waiting.callID.text)")
        if let question = waiting.question, reply.status != 429, reply.status != 503,
            checker.decisions?.open[question]?.isWithdrawn == false
        {
            fail("I30", "a candidate of \(waiting.callID.text) is answered with \(reply.status) before the decision")
        }
        checker.checkDecided(reply, to: waiting.caller, about: waiting.callID, isOver: waiting.isOver)
    }

    /// Checks that a request has its response, if the run that has it goes on.
    func look(_ id: RequestID, run: Int, isStalled: Bool) {
        guard let waiting = crowd.waiting[id], waiting.run == run, !isStalled else { return }
        fail("I32", "the offer \(waiting.callID.text) of \(waiting.caller.text) has no response after a minute")
    }
}

/// A request of the crowd, on its way to the server.
struct CrowdRequest {
    let id: RequestID
    let caller: UserID
    let callID: CallID
    let isOffer: Bool
    let body: [UInt8]
}
