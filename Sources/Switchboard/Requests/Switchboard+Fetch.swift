import CallCore
import CallPorts
import CallWire

/// `GET /api/calls/signal/{callId}`: everything that a woken device needs to know about a call, in one round trip.
extension Switchboard {
    mutating func fetch(_ callID: CallID, _ fetch: Fetch, by who: Who, as id: RequestID, at now: Moment) {
        let phone = phone(asking: who, named: fetch.device)
        let found = calls.find(callID, for: who.user, with: fetch.peer, on: phone)
        let asleep = asleep(callID, for: who.user, with: fetch.peer, unless: found)
        if !asleep.isEmpty {
            park(.request(id, who, .fetch(callID, fetch)), until: asleep, at: now)
            return
        }
        guard let call = found, let side = call.session.side(of: who.user) else {
            refuse(id, Self.unknownCall)
            return
        }
        // A device that fetches a ringing call rings. A fetch without a device id may come from a program that only
        // observes the call.
        if side == .callee, !phone.isUnnamed, case .ringing = call.session.phase {
            drive(call, .notified(phone), at: now)
        }
        if side == .callee, case .ringing = call.session.phase {
            note(call, .fetched(phone.id), at: now)
        }
        let poll = LongPolls.Poll(
            call: call.number,
            who: who,
            phone: phone,
            fetch: fetch,
            until: now + min(fetch.wait, policy.longestPoll),
            iceServers: fetch.isArray ? [] : iceServers(for: who, at: now)
        )
        // An ended call gets no further entries: waiting for one would only delay the app.
        guard fetch.wait.milliseconds > 0, !hasNews(for: poll, of: call, side),
            call.session.standing(side: side, phone: call.session.standIn(for: phone, on: side)).state != .ended,
            !connections.isDraining
        else {
            showLife(of: phone, of: who.user, in: call, at: now)
            answer(poll, as: id, at: now)
            return
        }
        guard polls.count(of: who.user, for: call) < SwitchboardLimits.pollsPerUser else {
            metrics.limited[.polls] += 1
            refuse(
                id,
                WireError(.rateLimited, "wait: at most \(SwitchboardLimits.pollsPerUser) polls of a call at a time")
            )
            return
        }
        polls.insert(poll, as: id)
        call.polls.append(id)
        drive(call, .seen(phone, side), at: now)
        schedule(.poll(id), at: poll.until)
    }
}
