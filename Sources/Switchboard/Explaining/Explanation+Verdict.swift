import CallCore

/// The verdict: what became of the call, and why, in a sentence or two.
extension Explanation {
    var verdict: String {
        var parts = [outcome]
        if events.contains(where: { $0.name == "restarted" }) {
            parts.append("The server was restarted in between; the call went on with its original deadline.")
        }
        if record.hidden == nil { parts += reached }
        return "Verdict: " + parts.joined(separator: "\n         ")
    }

    private var callee: String { record.callee.text }

    /// How it ended.
    private var outcome: String {
        if record.hidden == .block {
            return
                "\(callee) has blocked \(record.caller.text): nothing rang and nothing was pushed. The caller saw an ordinary ring."
        }
        if record.hidden == .doNotDisturb {
            return
                "\(callee) does not want to be disturbed: nothing rang and nothing was pushed. The history says missed."
        }
        if let answeredAt = record.answeredAt {
            let by = events.first { $0.signal == "answer" }?.device.map { " on \($0)" } ?? ""
            return "\(callee) answered\(by) at \(offset(answeredAt)); \(ending)."
        }
        guard let endedAt = record.endedAt, let reason = record.reason else { return "The call is ringing." }
        switch reason {
        case .cancelled:
            return
                "The caller gave up first, \(Self.seconds(endedAt - record.startedAt)) after the offer; nobody had answered."
        case .unanswered: return "Nobody answered within \(Self.seconds(record.ringUntil - record.startedAt))."
        case .declined: return "\(callee) declined at \(offset(endedAt))."
        case .busy: return "\(callee) was in another call; the caller was told busy."
        case .glare:
            return
                "Both called at once: \(record.replacedBy?.text ?? "the other call") went on, this one gave way to it."
        case .replaced: return "The caller began anew under the same callId at \(offset(endedAt))."
        case .failed: return "The call failed at \(offset(endedAt)), as one side said."
        case .hangup, .answeredElsewhere, .declinedElsewhere, .disconnected:
            return "The call ended with \(reason.rawValue) at \(offset(endedAt))."
        }
    }

    private var ending: String {
        guard let endedAt = record.endedAt, let reason = record.reason else { return "the call goes on" }
        switch reason {
        case .hangup: return "it ended by hang-up at \(offset(endedAt))"
        case .disconnected: return "it ended at \(offset(endedAt)) because one side was gone for longer than its grace"
        case .failed: return "it failed at \(offset(endedAt)), as one side said"
        case .replaced: return "the caller began anew under the same callId at \(offset(endedAt))"
        case .cancelled, .declined, .busy, .unanswered, .answeredElsewhere, .declinedElsewhere, .glare:
            return "it ended with \(reason.rawValue) at \(offset(endedAt))"
        }
    }

    /// A line for each device that the call was meant to reach.
    private var reached: [String] {
        if record.reason == .glare || record.reason == .busy { return [] }
        var devices: [String] = []
        for event in events where ["delivered.socket", "push.sent", "push.result", "probe.failed"].contains(event.name)
        {
            if let device = event.device, event.kind != "missed", !devices.contains(device) { devices.append(device) }
        }
        let lines = devices.map { line(for: $0) }
        if !lines.isEmpty { return lines }
        guard events.contains(where: { $0.name == "no_device" }) else { return [] }
        return [
            "\(callee) had no connection, and no device registered for pushes: nothing could ring. "
                + "The app must PUT /api/me/devices with its VoIP token."
        ]
    }

    private func line(for device: String) -> String {
        let own = events.filter { $0.device == device && $0.kind != "missed" }
        let name = "\(callee)'s \(model(of: device))"
        if let push = own.last(where: { $0.name == "push.result" }) { return name + pushed(push, own) }
        if let push = own.last(where: { $0.name == "push.sent" }) {
            return name + " was pushed at \(offset(push.at)); APNs had not answered when this was asked."
        }
        return name + bySocket(own)
    }

    private func bySocket(_ own: [Event]) -> String {
        guard let delivered = own.first(where: { $0.name == "delivered.socket" }) else { return " was not reached." }
        if let failed = own.first(where: { $0.name == "probe.failed" }) {
            return " looked connected, but its socket was dead (no answer to the ping by \(offset(failed.at))), "
                + "and it has no push token of its own: nothing else could wake it."
        }
        if let rang = own.first(where: { $0.signal == "ringing" }) {
            return " rang by its socket at \(offset(rang.at))."
        }
        if own.contains(where: { $0.signal == "answer" }) {
            return " got the offer by its socket at \(offset(delivered.at))."
        }
        return " got the offer by its socket at \(offset(delivered.at)), but its app never said that it rings."
    }

    private func pushed(_ push: Event, _ own: [Event]) -> String {
        let sent = own.last { $0.name == "push.sent" && $0.at <= push.at }?.at ?? push.at
        let dead = events.contains { $0.name == "probe.failed" }
        let why = dead ? " (a socket that did not answer its ping was closed first)" : ""
        let service = push.environment.map { " (\($0))" } ?? ""
        guard push.status == 200 else {
            let reason = push.reason.map(Self.printable) ?? "no reason given"
            let hint = PushHint.text(forReason: push.reason).map { ": \($0)" } ?? ""
            if let status = push.status {
                return " was pushed at \(offset(sent))\(why), and APNs\(service) refused: \(status) \(reason)\(hint)."
            }
            return " was to be pushed at \(offset(sent))\(why), but \(reason)\(hint)."
        }
        let taken = " was pushed at \(offset(sent))\(why), APNs accepted it\(service) at \(offset(push.at)), "
        // A phone that a push wakes comes back under the name of its token or its connection.
        if let life = events.first(where: { isLife($0, after: push.at) }) {
            return taken + "and it came back at \(offset(life.at))."
        }
        return taken
            + "but the phone never came back: it is off or without network, or iOS withholds pushes from an app "
            + "that did not report earlier calls."
    }

    private func isLife(_ event: Event, after moment: Moment) -> Bool {
        guard event.at >= moment, event.side != .caller else { return false }
        return event.signal != nil || event.name == "fetched" || event.name == "delivered.socket"
    }

    /// What kind of device it is, in a word.
    private func model(of device: String) -> String {
        guard let record = devices.first(where: { $0.id.text == device }) else { return "device \(device)" }
        switch record.platform.lowercased() {
        case "ios": return "iPhone \(device)"
        case "android": return "Android phone \(device)"
        default: return "\(Self.printable(record.platform)) device \(device)"
        }
    }
}
