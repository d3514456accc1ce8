import CallCore
import CallWire

/// A text on its way to a user's sessions.
final class RelayedText {
    let message: TextMessage
    let from: UserID
    let name: String?
    /// Whether one of them is known to have got it.
    var hasArrived = false
    /// How many of them it was written to and that are still open.
    var sessions = 0

    init(_ message: TextMessage, from: UserID, name: String?) {
        self.message = message
        self.from = from
        self.name = name
    }
}

/// Texts from user to user: relayed to whoever is there, pushed as a notice to whoever is not; never kept.
extension Switchboard {
    /// For how long APNs is asked to take the notice.
    private static let noticeFor = Moment.Span.seconds(30)

    func relay(_ message: TextMessage, from session: Session, id: SignalID?, at now: Moment) {
        guard message.to != session.user else {
            tell(.invalid(.to, "is the sender"), id: id, to: session)
            return
        }
        if isDraining {
            tell(WireError(.draining, "the server is shutting down"), id: id, to: session)
            return
        }
        let isBlocked = directory.blocks(session.user, message.to)
        let sessions = isBlocked ? [] : sessionsByUser[message.to] ?? []
        let name = shownName(message.displayName, of: session.who.name, isService: session.who.isService)
        var message = message
        if policy.callerName == .token { message.rename(name) }
        let text = RelayedText(message, from: session.user, name: name)
        let frame = ServerFrame.message(message, from: session.user, device: session.phone.id, at: now)
        if isRestrained, let refusal = backlogRefusal(ofBytes: frame.count, to: sessions) {
            tell(refusal, id: id, to: session)
            return
        }
        if !isBlocked { getInTouch(session.user, message.to, byText: true) }
        for addressee in sessions {
            metrics.delivered += 1
            send(frame, to: addressee, at: now)
            text.sessions += 1
            awaitArrival(of: text, by: addressee, at: now)
            askForLife(addressee, at: now)
        }
        if let id { out.append(.send(session.id, ServerFrame.ack(id: id, isOnline: !sessions.isEmpty))) }
        if sessions.isEmpty, !isBlocked { push(text, at: now) }
    }

    /// The pong to the next ping will show that a text has arrived.
    private func awaitArrival(of text: RelayedText, by session: Session, at now: Moment) {
        session.texts.append((text, session.pings + 1))
        // It answers no ping, and talks, so that it is not closed either.
        if session.texts.count > Session.mostUnconfirmed { giveUp(session.texts.removeFirst().text, at: now) }
    }

    /// Pings a session that must answer in time, or was a corpse.
    func askForLife(_ session: Session, at now: Moment) {
        ping(session, at: now)
        owesLife(session, at: now)
    }

    /// From now on a session owes a sign of life, unless it owes one already.
    func owesLife(_ session: Session, at now: Moment) {
        guard session.probedAt == nil else { return }
        session.probedAt = now
        schedule(.probe(session.id), at: now + policy.probeFor)
    }

    /// A session is closed: whether the texts written to it since its last pong arrived, nobody knows.
    func giveUpTexts(to session: Session, at now: Moment) {
        for (text, _) in session.texts { giveUp(text, at: now) }
        session.texts = []
    }

    private func giveUp(_ text: RelayedText, at now: Moment) {
        text.sessions -= 1
        if !text.hasArrived, text.sessions == 0, !isDraining { push(text, at: now) }
    }

    private func push(_ text: RelayedText, at now: Moment) {
        let user = text.message.to
        guard directory.hides(text.from, from: user, at: now) == nil, mayNotify(text.from, at: now) else { return }
        for device in directory.devices(of: user) {
            guard let token = device.alertToken else { continue }
            let id = makePushID()
            let name = "ringline:message/\(text.from.text)/\(user.text)/\(now.milliseconds)/\(id.rawValue)"
            let order = PushOrder(
                id: id,
                token: token,
                topic: device.bundleID,
                kind: .alert,
                environment: environment(of: device),
                apnsID: UUIDv5.url(name),
                payload: PushPayload.text(text.message, from: text.from, name: text.name, at: now),
                giveUpAt: now + Self.noticeFor,
                device: device.id
            )
            send(order, to: device, at: now)
        }
    }

    /// Texts may make phones sound as often as calls may make them ring.
    private func mayNotify(_ user: UserID, at now: Moment) -> Bool {
        let full = TokenBucket(perSecond: Double(policy.callsPerMinute) / 60, burst: policy.callsPerMinute, at: now)
        return noticeBuckets[user, default: full].take(at: now)
    }
}
