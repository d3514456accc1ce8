import CallCore
import CallPorts

/// The verdict: the outcome of the call and the reason for it, in a sentence or two.
extension Explanation {
    var verdict: String { "Verdict: " + sentences.joined(separator: "\n         ") }

    /// The verdict's sentences: the outcome of the call, and then the reasons for it.
    package var sentences: [String] {
        var parts = [outcome]
        if let decisionSentence { parts.append(decisionSentence) }
        if let scheduledSentence { parts.append(scheduledSentence) }
        let nodes = events.compactMap { if case .takenOver(let node) = $0.event { node } else { nil } }
        if let last = nodes.last {
            let times = nodes.count == 1 ? "" : "\(nodes.count) times, at last "
            parts.append(
                "The call was taken over \(times)by the node \(last.printable); it went on with its original deadline."
            )
        } else if has(.restarted) {
            parts.append("The server was restarted in between; the call went on with its original deadline.")
        }
        if let event = events.first(where: { if case .tokensRevoked = $0.event { true } else { false } }) {
            let user = event.side == .caller ? caller : callee
            parts.append(
                "\(user) logged out everywhere at \(offset(event.at)): its connections were closed, and its devices are not pushed until they register again."
            )
        }
        if record.hidden == nil, let quiet = events.first(where: { $0.event == .doNotDisturb }) {
            parts.append(
                "\(callee) set do-not-disturb while it rang, at \(offset(quiet.at)): no push went out from then on."
            )
        }
        if record.hidden == nil { parts += reached + silencedDevices }
        parts += refusedRings
        return parts
    }

    /// How long a device may reasonably take from its push to its first sign of life.
    static let wakingTime = Moment.Duration.seconds(5)

    /// A sentence about a hidden call as its caller saw it, after a space; empty for a scheduled call, which has no caller.
    private var callersView: String {
        if record.scheduled != nil { return "" }
        return record.reason == .busy
            ? " The caller was told busy, like any other caller." : " The caller saw an ordinary ring."
    }

    /// The sentence that says how the call ended or, if it has not ended, in which state it is.
    package var outcome: String {
        if record.hidden == .block, has(.numberBlocked) {
            return
                "\(callee) has blocked the phone number that the call showed: nothing rang and nothing was pushed.\(callersView)"
        }
        if record.hidden == .block {
            return
                "\(callee) has blocked \(caller): nothing rang and nothing was pushed.\(callersView)"
        }
        if record.hidden == .doNotDisturb {
            return
                "\(callee) had do-not-disturb on: nothing rang and nothing was pushed. The history shows a missed call."
        }
        if record.hidden == .callIDTaken {
            return
                "\(callee) was in a call with this callId with another user, so nothing rang and nothing was pushed: an answer could have gone to the wrong call.\(callersView)"
        }
        if let refusedByApp { return refusedByApp }
        if let answeredAt = record.answeredAt {
            let by = events.first { $0.signal == .answer }?.device.map { " on \(short($0))" } ?? ""
            return "\(callee) answered\(by) at \(offset(answeredAt)); \(ending)."
        }
        if let scheduledOutcome { return scheduledOutcome }
        guard let endedAt = record.endedAt, let reason = record.reason else { return ringing }
        switch reason {
        case .cancelled:
            return
                "The caller gave up \(Self.seconds(endedAt - record.startedAt)) after the offer, before an answer."
        case .unanswered: return "Nobody answered within \(Self.seconds(record.ringUntil - record.startedAt))."
        case .declined:
            let device = ender?.device.map { " on \(short($0))" } ?? ""
            return "\(callee) declined\(device) at \(offset(endedAt))."
        case .busy:
            guard let device = ender?.device else {
                if has(.tooManyCallers) {
                    return "Too many other calls were ringing \(callee); the caller was told busy."
                }
                return "\(callee) was in another call; the caller was told busy, as --busy-policy says."
            }
            let name = names.device(device) ?? "device \(device)"
            return "\(callee)'s \(name) said at \(offset(endedAt)) that it is busy, and the caller was told."
        case .glare:
            return
                "Both called at once: \(record.replacedBy?.text ?? "the other call") continued and this one ended."
        case .replaced:
            let next = record.replacedBy.map { "with call \($0.text)" } ?? "with the same callId"
            return "The caller started again \(next) at \(offset(endedAt))."
        case .failed: return "The call failed at \(offset(endedAt)), as \(enderName) reported, before an answer."
        case .hangup, .answeredElsewhere, .declinedElsewhere, .disconnected, .confirmed, .missed, .givenUp:
            return "The call ended with \(reason.rawValue) at \(offset(endedAt))."
        }
    }

    /// The state of a call that was not answered and has not ended, as far as the store shows.
    private var ringing: String {
        // A running server ends the ringing at its deadline, and has stored the end a moment later.
        let isOver = now > record.ringUntil + .seconds(5)
        switch source {
        case .server where isOver:
            return "The call should have stopped ringing at \(offset(record.ringUntil)), but the server has not "
                + "recorded its end: it cannot write its database, or it hangs; see its log."
        case .server: return "The call is ringing."
        case .noServer where isOver:
            return
                "The server stopped while the call rang, and has not run since: the devices stop ringing by themselves, "
                + "and the next start ends the call as unanswered."
        case .noServer:
            return "The call rang when the server stopped or was killed, and the server has not run since: the devices "
                + "stop ringing by themselves at \(offset(record.ringUntil)), and a start before then resumes the call."
        case .copy: return "The call rang when this copy was made."
        }
    }

    /// The state of a call that was answered and has not ended, as far as the store shows.
    private var ongoingState: String {
        switch source {
        case .server: return "the call goes on"
        case .noServer:
            let last = (events.map(\.at) + [record.startedAt]).max() ?? record.startedAt
            return "it was going on when the server stopped or was killed, and the server has not run since: the last "
                + "event is at \(offset(last)), and the next start resumes the call for devices that come back "
                + "within the grace period"
        case .copy: return "it was going on when this copy was made"
        }
    }

    /// The `end` signal that ended the call; `nil` = the call is live, or no signal ended it.
    ///
    /// An `end` that came after the call's end did not end it.
    var ender: Event? {
        guard let endedAt = record.endedAt else { return nil }
        return events.last { $0.signal == .end && $0.at <= endedAt }
    }

    /// The user whose `end` ended the call, or "one side" if the timeline has no such signal.
    private var enderName: String {
        switch ender?.side {
        case .caller: caller
        case .callee: callee
        case nil: "one side"
        }
    }

    private var ending: String {
        guard let endedAt = record.endedAt, let reason = record.reason else { return ongoingState }
        switch reason {
        case .hangup: return "\(enderName) hung up at \(offset(endedAt))"
        case .disconnected where ender != nil:
            return "it ended at \(offset(endedAt)) because the app of \(enderName) was restarted and had lost the call"
        case .disconnected:
            return "it ended at \(offset(endedAt)) because one side was gone for longer than the grace period"
        case .failed: return "it failed at \(offset(endedAt)), as \(enderName) reported"
        // The app that was killed in the call may be either user's, and the call's record does not show which user
        // began the new call.
        case .replaced where record.scheduled != nil:
            return "the schedule's next time came at \(offset(endedAt)), so this ring ended"
        case .replaced: return "one of the two started again with the same callId at \(offset(endedAt))"
        case .confirmed: return "\(callee) confirmed at \(offset(endedAt))"
        case .givenUp: return "it ended at \(offset(endedAt)), and \(callee) had not confirmed"
        case .cancelled, .declined, .busy, .unanswered, .answeredElsewhere, .declinedElsewhere, .glare, .missed:
            return "it ended with \(reason.rawValue) at \(offset(endedAt))"
        }
    }

    /// A line for each device that the call was meant to reach.
    private var reached: [String] {
        var devices: [String] = []
        for event in events where event.isDelivered || event.isPushSent || event.isPushResult || event.isProbeFailed {
            if let device = event.device, !event.isForNotice, !devices.contains(device) { devices.append(device) }
        }
        let lines = devices.map { line(for: $0) + lowered($0) }
        if !lines.isEmpty { return lines }
        guard has(.noDevice) else { return [] }
        let none = "\(callee) had no connection, and no device registered for pushes"
        if let life = events.first(where: { $0.isSignOfLife }) {
            return ["\(none): the call was fetched at \(offset(life.at)) by a device that asked for it."]
        }
        return ["\(none): nothing could ring. The app must PUT /api/me/devices with a push token."]
    }

    /// Returns a sentence about a push that came with a lower priority than it was sent with; empty if none did.
    private func lowered(_ device: String) -> String {
        let isLowered = events.contains { event in
            if case .pushLowered = event.event { event.device == device } else { false }
        }
        return isLowered
            ? " Its push came with normal priority: Firebase lowers it for an app whose messages show nothing, and such a message may come late."
            : ""
    }

    private func line(for device: String) -> String {
        let own = events.filter { $0.device == device && !$0.isForNotice }
        let name = name(of: device)
        if let push = own.last(where: { $0.isPushResult }) { return name + pushed(push, own) }
        if let push = own.last(where: { $0.isPushSent }) {
            let fate = cancellationReason(push, own).map { "the push was cancelled before it was sent, because \($0)" }
            return name
                + " \(verb(push)) at \(offset(push.at)); \(fate ?? "no response from \(Self.service(push)) is recorded")"
                + "\(laterSignOfLife(own))."
        }
        return name + bySocket(own)
    }

    /// Returns why a push without a result was cancelled; `nil` = the push was not cancelled, or that is unknown.
    ///
    /// It is unknown if the server was restarted between the push and the cancellation: the cancelled push is then the
    /// next attempt, and `push` may have been sent.
    private func cancellationReason(_ push: Event, _ own: [Event]) -> String? {
        guard let back = own.first(where: { $0.isPushCancelled && $0.position > push.position }) else {
            return nil
        }
        let before = events.prefix { $0.position < back.position }
        if before.contains(where: { $0.event == .restarted && $0.position > push.position }) { return nil }
        if own.contains(where: { $0.position < back.position && $0.isSilenced }) {
            return "the device reported that its system does not show the call"
        }
        if before.contains(where: { $0.event == .doNotDisturb }) { return "\(callee) turned do-not-disturb on" }
        if before.contains(where: { $0.event == .tokensRevoked(.callee) }) {
            return "\(callee) logged out everywhere"
        }
        return "the call no longer rang"
    }

    /// Returns a clause that says when a device came back after its first push; empty if the device did not come back.
    ///
    /// It is used where no response of the push service shows that the push was accepted.
    func laterSignOfLife(_ own: [Event]) -> String {
        guard let pushed = own.first(where: { $0.isPushSent }),
            let life = own.first(where: { $0.position > pushed.position && $0.isSignOfLife })
        else { return "" }
        let rang = own.contains { $0.position >= life.position && $0.signal == .ringing }
        return "; the device came back all the same at \(offset(life.at))\(rang ? " and rang" : "")"
    }

    private func bySocket(_ own: [Event]) -> String {
        guard let delivered = own.first(where: { $0.isDelivered }) else { return " was not reached." }
        if let failed = own.first(where: { $0.isProbeFailed }) {
            let dead = " looked connected, but its connection was dead (no answer to the ping by \(offset(failed.at)))"
            if let back = own.first(where: { $0.position > failed.position && $0.isSignOfLife }) {
                let rang = own.contains { $0.position >= back.position && $0.signal == .ringing }
                return dead + "; it came back at \(offset(back.at))\(rang ? " and rang" : "")."
            }
            let isNameless = failed.device.map { Self.isNameless($0) } ?? false
            let isWoken = events.contains { event in
                event.isPushSent && event.device.map { $0.hasPrefix("d-") } ?? false
            }
            return isNameless && isWoken
                ? dead + "; the registration without a device id was pushed instead."
                : dead + ", and it has no push token: nothing else could wake it."
        }
        if let rang = own.first(where: { $0.signal == .ringing }) {
            return " rang over its connection at \(offset(rang.at))."
        }
        if own.contains(where: { $0.isSilenced }) {
            return " got the offer over its connection at \(offset(delivered.at))."
        }
        if own.contains(where: { $0.signal != nil }) {
            return " got the offer over its connection at \(offset(delivered.at))."
        }
        let isRinging = record.answeredAt == nil && record.endedAt == nil && now <= record.ringUntil
        return " got the offer over its connection at \(offset(delivered.at)), "
            + (isRinging ? "and its app has not reported ringing yet." : "but its app never reported ringing.")
    }

    private func has(_ event: TimelineEvent) -> Bool { events.contains { $0.event == event } }

    /// Whether a device had a dead connection before its push.
    ///
    /// A device without an id may have had the connection under another id.
    func hadDeadConnection(_ device: String?, before sent: Event) -> Bool {
        let isNamed = device.map { !Self.isNameless($0) } ?? true
        return events.contains { event in
            guard event.isProbeFailed, event.position < sent.position else { return false }
            return event.device == device || (!isNamed && event.device.map { Self.isNameless($0) } ?? false)
        }
    }

    /// Whether a device's connection answered its probe, so that the device was pushed only because it was absent
    /// afterwards.
    func hadLostConnection(_ device: String?, before sent: Event) -> Bool {
        let before = events.prefix { $0.position < sent.position }
        guard let probe = before.last(where: { $0.isProbe && $0.device == device }) else { return false }
        return !before.contains { other in
            other.position > probe.position
                && (other.isRestart || (other.device == device && (other.isPushSent || other.isProbeFailed)))
        }
    }

    /// Returns the first sign of life, after a push, of a device without an id that had no event before.
    ///
    /// A device that a push wakes may come back under the id that stands for its token or its connection.
    func nameless(after sent: Event) -> Event? {
        let known = Set(events.prefix { $0.position <= sent.position }.map(\.device))
        return events.first {
            $0.position > sent.position && $0.isSignOfLife && !known.contains($0.device)
                && $0.device.map { Self.isNameless($0) } ?? false
        }
    }

    /// Whether the server made a device's id: for a token, for a connection, or for a registration without a device
    /// id.
    private static func isNameless(_ device: String) -> Bool {
        device.hasPrefix("t-") || device.hasPrefix("c-") || device.hasPrefix("d-")
    }

    /// Returns a device of the callee as a verdict names it.
    func name(of device: String) -> String { "\(callee)'s \(model(of: device))" }

    /// Returns a device of the callee where the sentence says already whose it is.
    private func short(_ device: String) -> String { names.device(device).map { "the \($0)" } ?? device }

    /// Returns the kind of a device in one or two words, followed by its id unless the reader knows it by a name.
    private func model(of device: String) -> String {
        if let name = names.device(device) { return name }
        guard let record = devices.first(where: { $0.id.text == device }) else { return "device \(device)" }
        switch record.platform.lowercased() {
        case "ios": return "iPhone \(device)"
        case "android": return "Android phone \(device)"
        default: return "\(record.platform.printable) device \(device)"
        }
    }
}
