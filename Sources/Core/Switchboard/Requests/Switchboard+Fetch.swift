import CallCore
import CallPorts
import CallWire

/// `GET /api/calls/signal/{callId}`: everything that a woken device needs to know about a call, in one round trip.
extension Switchboard {
    mutating func fetch(_ callID: CallID, _ fetch: Fetch, by principal: Principal, as id: RequestID) {
        let device = deviceIdentity(asking: principal, named: fetch.device)
        let found = calls.find(callID, for: principal.user, with: fetch.peer, on: device)
        let awaited = awaited(callID, for: principal.user, with: fetch.peer, besides: found)
        if !awaited.isEmpty {
            park(.request(id, principal, .fetch(callID, fetch)), until: awaited)
            return
        }
        guard let call = found, let side = call.side(of: principal.user) else {
            refuseFetch(as: id)
            return
        }
        // A device that fetches a ringing call will ring, so it becomes a leg of the call. A fetch without a device id
        // adds no leg, because it may come from a program that only observes the call.
        if side == .callee, !device.isUnnamed, case .ringing = call.session.phase {
            process(call, .notified(device))
        }
        if side == .callee, case .ringing = call.session.phase {
            note(call, .fetched(device.id))
        }
        let poll = LongPolls.PendingFetch(
            call: call.number,
            principal: principal,
            device: device,
            fetch: fetch,
            until: turn.now + min(fetch.wait, policy.longestPoll),
            iceServers: fetch.isArray ? [] : iceServers(for: principal)
        )
        // An ended call gets no further entries: waiting for one would only delay the app.
        guard fetch.wait.milliseconds > 0, !hasNewEntries(for: poll, of: call, side),
            call.session.visibleState(side: side, device: call.session.actingDevice(for: device, on: side)).state
                != .ended,
            !connections.isDraining
        else {
            notePresence(of: device, of: principal.user, in: call)
            respond(poll, as: id)
            return
        }
        guard polls.count(of: principal.user, for: call) < SwitchboardLimits.pollsPerUser else {
            refuse(id, exceeded(.polls, "wait: at most \(SwitchboardLimits.pollsPerUser) polls of a call at a time"))
            return
        }
        polls.insert(poll, as: id)
        call.polls.append(id)
        process(call, .seen(device, side))
        schedule(.poll(id), at: poll.until)
    }
}
