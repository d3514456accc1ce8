import CallCore
import CallPorts
import CallWire

/// `GET /api/calls/signal/{callId}`: everything that a woken device needs of a call, in one round trip.
extension Switchboard {
    /// A fetch that waits for the next entry.
    struct Poll {
        let call: CallNumber
        let who: Who
        let phone: Phone
        let fetch: Fetch
        let until: Moment
        /// The ICE servers for the client; empty where the reply has no member for them.
        let iceServers: [UInt8]
    }

    /// The long polls that one user may have under way for one call: two devices, and each again after it lost its
    /// network.
    private static let pollsPerUser = 4

    private func polls(of user: UserID, for call: Call) -> Int { call.polls.count { polls[$0]?.who.user == user } }

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
        // A device that fetches a ringing call rings. A device without an id may only be looking on for its user.
        if side == .callee, !phone.isUnnamed, case .ringing = call.session.phase {
            drive(call, .notified(phone), at: now)
        }
        if side == .callee, case .ringing = call.session.phase {
            note(call, .fetched(phone.id), at: now)
        }
        let poll = Poll(
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
            !isDraining
        else {
            showLife(of: phone, of: who.user, in: call, at: now)
            answer(poll, as: id, at: now)
            return
        }
        guard polls(of: who.user, for: call) < Self.pollsPerUser else {
            metrics.limited[.polls] += 1
            refuse(id, WireError(.rateLimited, "wait: at most \(Self.pollsPerUser) polls of a call at a time"))
            return
        }
        polls[id] = poll
        call.polls.append(id)
        drive(call, .seen(phone, side), at: now)
        schedule(.poll(id), at: poll.until)
    }

    /// Whether an entry is shown to the device that fetches.
    private func isShown(_ entry: LogEntry, of call: Call, to poll: Poll, _ side: Side) -> Bool {
        call.session.sees(entry, side: side, phone: call.session.standIn(for: poll.phone, on: side))
    }

    private func since(_ poll: Poll, _ call: Call) -> UInt64 {
        guard let since = poll.fetch.since else { return 0 }
        return since.epoch == nil || since.epoch == call.session.epoch ? since.seq : 0
    }

    /// Answers the polls for which there is a new entry.
    mutating func answerPolls(of call: Call, at now: Moment) {
        for id in call.polls {
            guard let poll = polls[id], let side = call.session.side(of: poll.who.user) else { continue }
            if hasNews(for: poll, of: call, side) { finish(poll, as: id, at: now) }
        }
    }

    private func hasNews(for poll: Poll, of call: Call, _ side: Side) -> Bool {
        let since = since(poll, call)
        return call.session.log.reversed().prefix { $0.seq > since }.contains { isShown($0, of: call, to: poll, side) }
    }

    mutating func pollTimedOut(_ id: RequestID, at now: Moment) {
        guard let poll = polls[id] else { return }
        finish(poll, as: id, at: now)
    }

    mutating func abandoned(_ id: RequestID, at now: Moment) {
        guard let poll = polls.removeValue(forKey: id) else {
            // A parked fetch must not become a poll once its call is loaded. Other parked requests are still carried
            // out.
            parked.removeAll { if case .request(id, _, .fetch) = $0.work { true } else { false } }
            return
        }
        leavePoll(poll, id, at: now)
    }

    private mutating func finish(_ poll: Poll, as id: RequestID, at now: Moment) {
        polls[id] = nil
        answer(poll, as: id, at: now)
        leavePoll(poll, id, at: now)
    }

    private mutating func leavePoll(_ poll: Poll, _ id: RequestID, at now: Moment) {
        guard let call = calls[poll.call] else { return }
        call.polls.removeAll { $0 == id }
        guard let side = call.session.side(of: poll.who.user) else { return }
        if !isPresent(poll.phone, of: poll.who.user, in: call) { drive(call, .gone(poll.phone, side), at: now) }
    }

    /// Answers a fetch with the entries that there are.
    ///
    /// Relayed signals are shown before they are durable, here as on connections.
    mutating func answer(_ poll: Poll, as id: RequestID, at now: Moment) {
        guard let call = calls[poll.call], let side = call.session.side(of: poll.who.user) else {
            refuse(id, Self.unknownCall)
            return
        }
        let since = since(poll, call)
        let key = FetchKey(poll, call, since: since)
        if bodies.at != now { bodies = (now, [:]) }
        if let body = bodies.built[key] {
            out.append(.reply(id, Reply(body: body)))
            return
        }
        let shown = call.session.log.indices.filter { isShown(call.session.log[$0], of: call, to: poll, side) }
        let new = shown.filter { call.session.log[$0].seq > since }
        let body =
            poll.fetch.isArray
            ? FetchView.array(call, new, by: poll.who)
            : FetchView.object(
                call,
                shown: shown,
                new: new,
                since: since,
                side: side,
                phone: call.session.standIn(for: poll.phone, on: side),
                by: poll.who,
                iceServers: poll.iceServers
            )
        metrics.fetchesBuilt += 1
        bodies.built[key] = body
        out.append(.reply(id, Reply(body: body)))
    }

    /// Forgets the bodies that this turn's fetches share.
    mutating func forgetBodies() {
        if !bodies.built.isEmpty { bodies.built = [:] }
    }
}

/// Everything that the body of a fetch depends on.
struct FetchKey: Hashable {
    private let call: CallNumber
    private let lastSeq: UInt64
    private let state: CallState
    private let user: UserID
    private let phone: Phone
    private let since: UInt64
    private let isArray: Bool
    private let isInteger: Bool
    private let iceServers: [UInt8]

    init(_ poll: Switchboard.Poll, _ call: Call, since: UInt64) {
        self.call = call.number
        lastSeq = call.session.lastSeq
        state = call.session.state
        user = poll.who.user
        phone = poll.phone
        self.since = since
        isArray = poll.fetch.isArray
        isInteger = poll.who.userIsInteger
        iceServers = poll.iceServers
    }
}
