package import CallCore
import CallPorts

/// The ladder of an explained call: its lanes, and what each event is on them.
///
/// An arrow ends where the bytes ended. The server relays signals, but the timeline does not show whether they came: so
/// their arrows end at the server.
extension Explanation {
    /// A device that a push has started or let run again, as only a push service can know.
    package struct Woken: Sendable {
        let device: DeviceID
        /// When it woke.
        package let at: Moment

        /// A push has woken this device at this moment.
        package init(_ device: DeviceID, at moment: Moment) {
            self.device = device
            at = moment
        }
    }

    /// The call's ladder.
    package var ladder: Ladder {
        let lanes = LaneChoice(self)
        var ladderRows = rows.map { event, count in row(event, count, lanes) }
        for device in woken {
            let step = Ladder.Step.arrow(from: lanes.push, to: lanes.device(device.device.text), arrives: true)
            let waking = row(at: device.at, step, "wakes the app", .good)
            let place = ladderRows.firstIndex { $0.offset > waking.offset } ?? ladderRows.endIndex
            ladderRows.insert(waking, at: place)
        }
        return Ladder(lanes: lanes.all, rows: ladderRows)
    }

    /// The lanes: the caller's devices, the server, the push services, the callee's devices.
    private struct LaneChoice {
        private(set) var all: [Ladder.Lane] = []
        private let callers: [String]
        private let callees: [String]

        init(_ call: Explanation) {
            let (caller, callee) = (call.record.caller, call.record.callee)
            callers = Self.devices(call.events.filter { $0.side == .caller }.compactMap(\.device))
            let woken = call.woken.map(\.device.text)
            callees = Self.devices(call.events.filter { $0.side != .caller }.compactMap(\.device) + woken)
            let first = call.names.has(caller) ? call.laneName(caller, callers.first) : "caller \(caller.text)"
            all.append(Ladder.Lane(kind: .caller, name: first, user: caller))
            for device in callers.dropFirst() {
                all.append(Ladder.Lane(kind: .caller, name: call.laneName(caller, device), user: caller))
            }
            all.append(Ladder.Lane(kind: .server, name: "server", user: nil))
            all.append(Ladder.Lane(kind: .push, name: call.services, user: nil))
            for device in callees.isEmpty ? [nil] : callees.map(Optional.some) {
                all.append(Ladder.Lane(kind: .callee, name: call.laneName(callee, device), user: callee))
            }
        }

        var server: Int { max(1, callers.count) }
        var push: Int { server + 1 }

        func caller(_ device: String?) -> Int { device.flatMap { callers.firstIndex(of: $0) } ?? 0 }
        func device(_ device: String?) -> Int { push + 1 + (device.flatMap { callees.firstIndex(of: $0) } ?? 0) }

        /// Returns the devices in the order of their first event.
        private static func devices(_ all: [String]) -> [String] {
            var seen: [String] = []
            for device in all where !seen.contains(device) { seen.append(device) }
            return seen
        }
    }

    /// Returns the name of the lane of a user's device, or of a user without a known device.
    private func laneName(_ user: UserID, _ device: String?) -> String {
        guard let device else { return names.user(user) }
        return names.device(device).map { "\(names.user(user))'s \($0)" } ?? device
    }

    /// The push services of the call's pushes.
    private var services: String {
        let sent = events.compactMap { event -> String? in
            guard case .pushSent(_, let push, let environment) = event.event else { return nil }
            // The timeline does not say which service carries a notice, unless it is APNs.
            let isNotice = push.kind == nil
            return environment != nil ? PushService.apns.name : isNotice ? "" : Self.service(event)
        }
        let known = PushService.all.map(\.name).filter(sent.contains)
        return known.isEmpty ? "push service" : known.joined(separator: ", ")
    }

    /// The events as rows.
    ///
    /// Events of kinds that are frequent and of little interest share one row for each kind and device, until an event
    /// that is not of such a kind follows. A take-over has one row, although it is also a restart.
    private var rows: [(Event, count: Int)] {
        var rows: [(Event, count: Int)] = []
        var run: [String: Int] = [:]
        for (index, event) in events.enumerated() {
            // No device has sent the offer of a scheduled call.
            if record.scheduled != nil, case .signal(.offer, .caller, _, _) = event.event { continue }
            if event.event == .restarted, case .takenOver? = events.dropFirst(index + 1).first?.event { continue }
            guard Self.isNumerous(event.event) else {
                rows.append((event, 1))
                run = [:]
                continue
            }
            let key = "\(event.event.name) \(event.side?.rawValue ?? "") \(event.device ?? "")"
            if let row = run[key] {
                rows[row].count += 1
            } else {
                run[key] = rows.count
                rows.append((event, 1))
            }
        }
        return rows
    }

    private static func isNumerous(_ event: TimelineEvent) -> Bool {
        switch event {
        case .signal(.ice, _, _, _), .signal(.info, _, _, _), .signal(.dtmf, _, _, _), .signal(.update, _, _, _),
            .fetched:
            true
        default: false
        }
    }

    private func row(at moment: Moment, _ step: Ladder.Step, _ label: String, _ look: Ladder.Look) -> Ladder.Row {
        Ladder.Row(offset: moment - record.startedAt, step: step, label: label, look: look)
    }

    private func row(_ event: Event, _ count: Int, _ lanes: LaneChoice) -> Ladder.Row {
        let times = count == 1 ? "" : " ×\(count)"
        let (server, push, device) = (lanes.server, lanes.push, lanes.device(event.device))
        let arrow = { (from: Int, to: Int, label: String, look: Ladder.Look) in
            row(at: event.at, .arrow(from: from, to: to, arrives: true), label + times, look)
        }
        let note = { (lane: Int, label: String, look: Ladder.Look) in
            row(at: event.at, .note(at: lane), label, look)
        }
        let sent = { (label: String, look: Ladder.Look) in
            row(at: event.at, .arrow(from: server, to: device, arrives: isHeard(event)), label, look)
        }
        switch event.event {
        case .signal(let kind, let side, let sender, _):
            return arrow(side == .caller ? lanes.caller(sender.text) : device, server, kind.rawValue, .usual)
        case .delivered: return sent("offer", .usual)
        case .probe: return sent("ping", .faint)
        case .fetched: return arrow(device, server, "fetch", .usual)
        case .silenced(_, let why): return arrow(device, server, "silenced: \(words(why.rawValue))", .bad)
        case .pushLowered: return arrow(device, server, "low priority", .bad)
        case .probeFailed: return note(device, "no answer", .bad)
        case .pushSent(_, let purpose, _):
            let word = Self.word(for: purpose)
            switch fate(of: event) {
            case .sent: return arrow(server, push, word, .usual)
            case .lost: return row(at: event.at, .arrow(from: server, to: push, arrives: false), word, .bad)
            case .kept: return note(server, "\(word): not sent", .bad)
            }
        case .pushResult(_, let status?, let reason, _, _):
            let isGood = PushResult.isAcceptance(status)
            let why = isGood ? "" : reason.map { " \($0.printable)" } ?? ""
            return arrow(push, server, "\(status)\(why)", isGood ? .good : .bad)
        case .pushResult: return note(server, "push failed", .bad)
        case .pushCancelled: return note(server, "push cancelled", .usual)
        case .repeated(let event, _, let count): return note(device, "\(event.rawValue) ×\(count) more", .usual)
        case .omitted(let count): return note(server, "\(count) events left out", .usual)
        case .ended(let reason): return note(server, "ended: \(words(reason.rawValue))", .end)
        case .ringRefused(_, let from, let count):
            return note(server, "ring of \(names.user(from).printable) refused\(count > 1 ? " ×\(count)" : "")", .bad)
        case .scheduled(_, _, ScheduledRing.trial): return note(server, "scheduled, on trial", .usual)
        case .scheduled(_, _, let ring): return note(server, "scheduled, ring \(ring)", .usual)
        case .decided(let outcome, _, _):
            return note(server, noteText(event.event), outcome == .allowed ? .good : .bad)
        case .takenOver, .ringSkipped, .numberBlocked, .noDevice, .doNotDisturb, .blocked, .callIDTaken,
            .tooManyCallers, .tokensRevoked, .restarted, .other:
            return note(server, noteText(event.event), .bad)
        }
    }

    private func noteText(_ event: TimelineEvent) -> String {
        switch event {
        case .takenOver(let node): "taken over by \(node.printable)"
        case .ringSkipped(let why): "skipped: \(why.rawValue)"
        case .numberBlocked: "number blocked"
        case .noDevice: "no device to ring"
        case .doNotDisturb: "do not disturb"
        case .blocked: "blocked: not shown"
        case .callIDTaken: "callId is taken"
        case .decided(let outcome, _, _): "decision: \(outcome.rawValue)"
        case .tooManyCallers: "too many callers"
        case .tokensRevoked: "tokens revoked"
        case .restarted: "server restarted"
        default: event.name.printable
        }
    }

    /// What became of the bytes of a push.
    private enum Fate {
        /// The push service has them, as far as the timeline shows.
        case sent
        /// No response came back.
        case lost
        /// They never left the server.
        case kept
    }

    private func fate(of sent: Event) -> Fate {
        let next = events.first {
            $0.position > sent.position && $0.device == sent.device
                && ($0.isPushCancelled || $0.isRestart || (($0.isPushResult || $0.isPushSent) && $0.push == sent.push))
        }
        switch next?.event {
        case .pushCancelled: return .kept
        case .pushResult(_, nil, let reason?, _, _):
            let isKept = PushService.all.contains { reason == $0.onlyLogged }
            return isKept || PushResult.Fault(rawValue: reason) != nil ? .kept : .lost
        case .pushResult(_, nil, nil, _, _): return .lost
        default: return .sent
        }
    }

    /// Whether a device may have heard what was sent to its connection: the connection did not prove to be dead.
    private func isHeard(_ sent: Event) -> Bool {
        let next = events.first {
            $0.position > sent.position && $0.device == sent.device
                && ($0.isProbeFailed || ($0.isSignOfLife && !$0.isDelivered))
        }
        return next?.isProbeFailed != true
    }

    private func words(_ text: String) -> String { String(text.map { $0 == "_" ? " " : $0 }) }

    private static func word(for push: TimelineEvent.Push) -> String {
        switch push {
        case .missed: "missed call"
        case .over: "call over"
        case .ring(.alert): "alert"
        case .ring: "push"
        }
    }
}
