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
    var connections = 0

    init(_ message: TextMessage, from: UserID, name: String?) {
        self.message = message
        self.from = from
        self.name = name
    }
}

/// Texts from user to user: relayed to connected devices, pushed as a notice to a user without a live connection; never
/// stored.
extension Switchboard {
    mutating func relay(_ message: TextMessage, from connection: Connection, id: SignalID?) {
        guard message.to != connection.user else {
            tell(.invalid(.to, "must be another user"), id: id, to: connection)
            return
        }
        if connections.isDraining {
            tell(WireError(.draining, "the server is shutting down"), id: id, to: connection)
            return
        }
        let isBlocked = directory.isBlocked(connection.user, by: message.to)
        let receivers = isBlocked ? [] : connections.of(message.to)
        let name = policy.shownName(
            message.displayName,
            of: connection.principal.name,
            isService: connection.principal.isService
        )
        var message = message
        if policy.callerName == .token { message.rename(name) }
        let text = RelayedText(message, from: connection.user, name: name)
        let frame = ServerFrame.message(message, from: connection.user, device: connection.device.id, at: turn.now)
        if mayRefuseSignals, let refusal = backlogRefusal(ofBytes: frame.count, to: receivers) {
            tell(refusal, id: id, to: connection)
            return
        }
        if !isBlocked { noteContact(connection.user, message.to, byText: true) }
        for addressee in receivers {
            metrics.delivered += 1
            sendFrame(frame, to: addressee)
            text.connections += 1
            awaitArrival(of: text, by: addressee)
            sendProbe(addressee)
        }
        if let id { turn.out.append(.send(connection.id, ServerFrame.ack(id: id, isOnline: !receivers.isEmpty))) }
        if receivers.isEmpty, !isBlocked { push(text) }
    }

    /// Records that the pong to the next ping will confirm that a text has arrived.
    private mutating func awaitArrival(of text: RelayedText, by connection: Connection) {
        connection.texts.append((text, connection.pings + 1))
        // A client that answers no ping but sends frames is not closed, so the list must be bounded.
        if connection.texts.count > SwitchboardLimits.unconfirmed {
            stopAwaiting(connection.texts.removeFirst().text)
        }
    }

    /// Stops waiting for a closed connection to confirm its texts.
    ///
    /// A text that no connection has confirmed or can still confirm is pushed instead, unless the server is draining.
    mutating func stopAwaitingTexts(by connection: Connection) {
        for (text, _) in connection.texts { stopAwaiting(text) }
        connection.texts = []
    }

    /// Stops waiting for one connection to confirm a text.
    private mutating func stopAwaiting(_ text: RelayedText) {
        text.connections -= 1
        if !text.hasArrived, text.connections == 0, !connections.isDraining { push(text) }
    }

    private mutating func push(_ text: RelayedText) {
        let now = turn.now
        let user = text.message.to
        guard directory.reasonToHide(text.from, from: user, at: turn.date) == nil,
            limits.notices.admit(text.from, at: now)
        else {
            return
        }
        for device in directory.devices(of: user) {
            guard let route = noticeRoute(to: device) else { continue }
            let id = pushes.makeID()
            let name = "ringline:message/\(text.from.text)/\(user.text)/\(now.milliseconds)/\(id.rawValue)"
            let push = OutgoingPush(
                id: id,
                route: route,
                uuid: UUIDv5.url(name),
                payload: NoticePayload.text(
                    text.message,
                    from: text.from,
                    name: text.name,
                    as: route.kind.form,
                    isMutable: device.hasMutableAlerts,
                    at: now
                ),
                kept: .aDay,
                expiresAt: now + SwitchboardLimits.noticeTimeout,
                device: device.id,
                user: device.user
            )
            sendNotice(push, from: text.from, to: device)
        }
    }
}
