import CallCore
import CallPorts

/// What the verdict says of a push: how it went, and what the device did then.
extension Explanation {
    func pushed(_ push: Event, _ own: [Event]) -> String {
        let sent = own.last { $0.isPushSent && $0.position < push.position } ?? push
        var why =
            hadDeadConnection(push.device, before: sent)
            ? " (a connection that did not answer its ping was closed first)"
            : hadLostConnection(push.device, before: sent)
                ? " (its connection had answered its ping, and ended before it rang)" : ""
        let tries = own.count { $0.isPushSent && $0.push == sent.push && $0.position <= sent.position }
        why += refusedBefore(sent, own)
        if tries > 1 { why += " (try \(tries))" }
        guard case .pushResult(_, let status, let reason, _, let environment) = push.event else { return "" }
        let (service, detail) = (Self.service(push), environment.map { " (\($0.rawValue))" } ?? "")
        guard let status, PushResult.isAcceptance(status) else {
            let hint = Self.hint(status, reason, push).map { ": \($0)" } ?? ""
            let said = reason.map(\.printable) ?? "no reason given"
            let came = laterSignOfLife(own)
            if let status {
                return " \(verb(sent)) at \(offset(sent.at))\(why), and \(service)\(detail) refused: "
                    + "\(status) \(said)\(hint)\(came)."
            }
            return " was to be pushed at \(offset(sent.at))\(why), but \(said)\(hint)\(came)."
        }
        let taken =
            " \(verb(sent)) at \(offset(sent.at))\(why), \(service) accepted it\(detail) at \(offset(push.at)), "
        if let life = events.first(where: { $0.position > sent.position && $0.isSignOfLife && $0.device == push.device }
        ) {
            return taken + "and it came back at \(offset(life.at))."
        }
        if let life = nameless(after: sent), let name = life.device {
            let pushes = Set(events.filter { $0.isPushSent && !$0.isForNotice }.map(\.device))
            return taken
                + (pushes.count == 1
                    ? "and it came back at \(offset(life.at)) as \(name)."
                    : "and a device without a device id came back at \(offset(life.at)) as \(name): this one or another.")
        }
        return taken + silence(since: sent)
    }

    /// Returns a clause about a better route that refused the push before; empty if none did.
    private func refusedBefore(_ sent: Event, _ own: [Event]) -> String {
        let before = own.last { $0.isPushResult && $0.push != sent.push && $0.position < sent.position }
        guard let before, case .pushResult(_, let status, let reason, _, _) = before.event else { return "" }
        let said = [status.map { "\($0)" }, reason?.printable].compactMap { $0 }.joined(separator: " ")
        guard status != nil else { return " (after a push through \(Self.service(before)) could not be sent: \(said))" }
        return
            " (after a \(before.push == .ring(.voip) ? "VoIP push" : "push") through \(Self.service(before)) was refused: \(said))"
    }

    /// Returns the end of the sentence about a device that has given no sign of life since its push.
    private func silence(since sent: Event) -> String {
        if sent.push == .ring(.firebase),
            devices.contains(where: { $0.id.text == sent.device && $0.isUnreachableByFirebase })
        {
            return "but no device of Apple rings by Firebase, because iOS starts no app for its messages: the app must "
                + "register voipDeviceToken (PushKit's token), or apnsDeviceToken for an alert that rings."
        }
        guard let stopped = record.answeredAt ?? record.endedAt ?? (now > record.ringUntil ? record.ringUntil : nil)
        else {
            return "and the device has not come back yet."
        }
        if record.reason != .unanswered, stopped - sent.at < Self.wakingTime {
            return
                "but the device had not come back when the ringing stopped, \(Self.seconds(stopped - sent.at)) later."
        }
        return sent.push == .ring(.alert) ? "but nobody opened the app." : Self.kind(of: sent).service.silence
    }

    /// Returns the advice for a push that was not accepted.
    static func hint(_ status: Int?, _ reason: String?, _ push: Event) -> String? {
        // The timeline does not say which service carries a notice; browsers' services use the words in another sense.
        let services = push.push?.kind.map { [$0.service] } ?? [.apns, .firebase]
        if let status { return services.lazy.compactMap { $0.meaning(ofStatus: status, reason) }.first }
        guard let reason else { return nil }
        let service = services[0]
        if reason == service.onlyLogged { return service.remedy }
        return PushResult.Fault(rawValue: reason)?.remedy ?? service.network
    }

    /// Returns the name of the push service through which a push went.
    static func service(_ push: Event) -> String { kind(of: push).service.name }

    /// Returns the kind of a push that rings, as far as it tells the service.
    private static func kind(of push: Event) -> PushKind { push.push?.kind ?? .voip }

    /// Returns how a device was notified.
    ///
    /// A device without a VoIP token, or on which iOS seems to withhold VoIP pushes, gets an alert push, which sounds only
    /// once. The timeline does not say which of the two it was. It does say if a VoIP push was refused before.
    func verb(_ push: Event) -> String {
        guard push.push == .ring(.alert) else { return Self.kind(of: push).service.wasPushed }
        let isNextRoute = events.contains {
            $0.isPushResult && $0.device == push.device && $0.push == .ring(.voip) && $0.position < push.position
        }
        if isNextRoute { return "was sent an alert" }
        return "was sent an alert (it has no VoIP token, or had not reacted to its last "
            + "\(DeviceRecord.pushesUntilAlert) VoIP pushes)"
    }
}
