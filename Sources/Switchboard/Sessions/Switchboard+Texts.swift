import CallCore
import CallPorts
import CallWire

/// A text on its way to a user's connections.
final class RelayedText {
    let message: TextMessage
    let from: UserID
    let name: String?
    /// Whether one of the connections has confirmed the text.
    var hasArrived = false
    /// The number of connections that the text was written to and that may still confirm it.
    var sessions = 0

    init(_ message: TextMessage, from: UserID, name: String?) {
        self.message = message
        self.from = from
        self.name = name
    }
}

/// Texts from user to user: relayed to connected devices, pushed as a notice to a user without a live connection; never
/// stored.
extension Switchboard {
    mutating func relay(_ message: TextMessage, from session: Session, id: SignalID?, at now: Moment) {
        guard message.to != session.user else {
            tell(.invalid(.to, "must be another user"), id: id, to: session)
            return
        }
        if connections.isDraining {
            tell(WireError(.draining, "the server is shutting down"), id: id, to: session)
            return
        }
        let isBlocked = directory.blocks(session.user, message.to)
        let sessions = isBlocked ? [] : connections.of(message.to)
        let name = policy.shownName(message.displayName, of: session.who.name, isService: session.who.isService)
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
        if let id { turn.out.append(.send(session.id, ServerFrame.ack(id: id, isOnline: !sessions.isEmpty))) }
        if sessions.isEmpty, !isBlocked { push(text, at: now) }
    }

    /// Records that the pong to the next ping will confirm that a text has arrived.
    private mutating func awaitArrival(of text: RelayedText, by session: Session, at now: Moment) {
        session.texts.append((text, session.pings + 1))
        // A client that answers no ping but sends frames is not closed, so the list must be bounded.
        if session.texts.count > SwitchboardLimits.unconfirmed { giveUp(session.texts.removeFirst().text, at: now) }
    }

    /// Gives up the texts of a closed connection: it is unknown whether those written since its last pong arrived.
    mutating func giveUpTexts(to session: Session, at now: Moment) {
        for (text, _) in session.texts { giveUp(text, at: now) }
        session.texts = []
    }

    private mutating func giveUp(_ text: RelayedText, at now: Moment) {
        text.sessions -= 1
        if !text.hasArrived, text.sessions == 0, !connections.isDraining { push(text, at: now) }
    }

    private mutating func push(_ text: RelayedText, at now: Moment) {
        let user = text.message.to
        guard directory.hides(text.from, from: user, at: now) == nil, limits.notices.take(text.from, at: now) else {
            return
        }
        for device in directory.devices(of: user) {
            guard let token = device.alertToken else { continue }
            let id = pushes.makeID()
            let name = "ringline:message/\(text.from.text)/\(user.text)/\(now.milliseconds)/\(id.rawValue)"
            let order = PushOrder(
                id: id,
                token: token,
                topic: device.bundleID,
                kind: .alert,
                environment: environment(of: device),
                apnsID: UUIDv5.url(name),
                payload: NoticePayload.text(text.message, from: text.from, name: text.name, at: now),
                giveUpAt: now + SwitchboardLimits.noticeFor,
                device: device.id
            )
            send(order, to: device, at: now)
        }
    }
}
