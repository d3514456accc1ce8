import CallCore
import CallPorts
import CallWire

/// Responses to fetches, among them long polls, which wait for the next entry; and the records of whether the devices
/// that make requests are gone.
extension Switchboard {
    /// Responds to the long polls of a call for which there is a new entry.
    mutating func respondToPolls(of call: Call) {
        for id in call.polls {
            guard let poll = polls[id], let side = call.side(of: poll.principal.user) else { continue }
            if hasNewEntries(for: poll, of: call, side) { completePoll(poll, as: id) }
        }
    }

    func hasNewEntries(for poll: LongPolls.PendingFetch, of call: Call, _ side: Side) -> Bool {
        let since = since(poll, call)
        return call.session.log.reversed().prefix { $0.seq > since }.contains { isShown($0, of: call, to: poll, side) }
    }

    /// Whether an entry is shown to the device that fetches.
    private func isShown(_ entry: LogEntry, of call: Call, to poll: LongPolls.PendingFetch, _ side: Side) -> Bool {
        call.session.sees(entry, side: side, device: call.session.actingDevice(for: poll.device, on: side))
    }

    private func since(_ poll: LongPolls.PendingFetch, _ call: Call) -> UInt64 {
        guard let since = poll.fetch.since else { return 0 }
        return since.epoch == nil || since.epoch == call.epoch ? since.seq : 0
    }

    private mutating func completePoll(_ poll: LongPolls.PendingFetch, as id: RequestID) {
        _ = polls.remove(id)
        respond(poll, as: id)
        detachPoll(poll, id)
    }

    private mutating func detachPoll(_ poll: LongPolls.PendingFetch, _ id: RequestID) {
        guard let call = calls[poll.call] else { return }
        call.polls.removeAll { $0 == id }
        guard let side = call.side(of: poll.principal.user) else { return }
        guard !isPresent(poll.device, of: poll.principal.user, in: call) else { return }
        process(call, .gone(poll.device, side))
        checkReach(of: call)
    }

    /// Responds to a fetch with the entries that exist now.
    ///
    /// As on connections, relayed signals are shown before they are durable. But if the call withholds entries, the response
    /// waits until they are durable.
    mutating func respond(_ poll: LongPolls.PendingFetch, as id: RequestID) {
        guard let call = calls[poll.call], let side = call.side(of: poll.principal.user) else {
            refuse(id, Self.unknownCall)
            return
        }
        guard !hasWithheldEntries(call) else {
            if metrics.isStalled {
                turn.out.append(.reply(id, Self.storeUnavailable))
            } else {
                commits.wait(.fetch(id, poll), since: turn.now)
            }
            return
        }
        trace(call, .fetched(id))
        let since = since(poll, call)
        let key = FetchKey(poll, call, since: since)
        if let body = polls.body(key, at: turn.now) {
            turn.out.append(.reply(id, Reply(body: body)))
            return
        }
        let shown = call.session.log.indices.filter { isShown(call.session.log[$0], of: call, to: poll, side) }
        let new = shown.filter { call.session.log[$0].seq > since }
        let body =
            poll.fetch.isArray
            ? FetchView.array(call, new, by: poll.principal)
            : FetchView.object(
                call,
                shown: shown,
                new: new,
                since: since,
                side: side,
                device: call.session.actingDevice(for: poll.device, on: side),
                by: poll.principal,
                iceServers: poll.iceServers
            )
        polls.keep(body, for: key)
        turn.out.append(.reply(id, Reply(body: body)))
    }

    mutating func pollTimedOut(_ id: RequestID) {
        guard let poll = polls[id] else { return }
        completePoll(poll, as: id)
    }

    mutating func abandoned(_ id: RequestID) {
        guard let poll = polls.remove(id) else {
            if appEvents.feedWaits.remove(id) != nil { return }
            queries.removeFetch(id)
            if policy.withholdsDecisions { commits.removeFetch(id) }
            return
        }
        detachPoll(poll, id)
    }

    /// Whether a device has a connection, or a long poll under way for a call.
    func isPresent(_ device: DeviceIdentity, of user: UserID, in call: Call) -> Bool {
        let isCaller = user == call.caller && call.session.isCaller(device)
        func isSameParticipant(_ other: DeviceIdentity) -> Bool {
            isCaller ? call.session.isCaller(other) : other.isSame(as: device)
        }
        if connections.of(user).contains(where: { isSameParticipant($0.device) }) { return true }
        return call.polls.contains {
            polls[$0].map { $0.principal.user == user && isSameParticipant($0.device) } ?? false
        }
    }

    /// Records that a device is not gone in a call while it makes a request.
    ///
    /// A device without a connection or a long poll is gone again after the request.
    mutating func notePresence(of device: DeviceIdentity, of user: UserID, in call: Call) {
        guard let side = call.side(of: user) else { return }
        process(call, .seen(device, side))
        if !isPresent(device, of: user, in: call) { process(call, .gone(device, side)) }
    }
}
