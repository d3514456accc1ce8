import CallCore
import CallPorts
import PlainText

/// The ladder: the messages between the parties, and their times.
///
/// Columns are the caller, the server, the push service and each device of the callee; offsets are in milliseconds from
/// the offer.
extension Explanation {
    /// The distance between two columns, in characters.
    private static let columnWidth = 18
    private static let offsetWidth = 8

    /// The callee's devices in the order of their first event.
    private var calleeDevices: [String] {
        var seen: [String] = []
        for event in events {
            guard let device = event.device, event.side != .caller, !seen.contains(device) else { continue }
            seen.append(device)
        }
        return seen.isEmpty ? ["\(record.callee.text)"] : seen
    }

    /// The push services of the call's pushes.
    private var services: String {
        let sent = events.compactMap { event -> String? in
            guard case .pushSent(_, let push, let environment) = event.event else { return nil }
            // The timeline does not say which service carries a notice, unless it is APNs.
            let isNotice = push == .missed || push == .over
            return environment != nil ? PushKind.voip.service : isNotice ? "" : Self.service(event)
        }
        let known = [PushKind.voip, .firebase, .web].map(\.service).filter(sent.contains)
        return known.isEmpty ? (sent.isEmpty ? "APNs" : "push service") : known.joined(separator: ", ")
    }

    var ladder: String {
        let devices = calleeDevices
        let columns = ["caller \(record.caller.text)", "server", services] + devices.map { Self.short($0) }
        var lines = [Self.heading(columns)]
        for (event, count) in rows {
            let to = event.device.flatMap { devices.firstIndex(of: $0) }.map { $0 + 3 } ?? 3
            let text =
                String(repeating: " ", count: max(0, Self.offsetWidth - 1 - offsetText(event).count))
                + offsetText(event) + " "
            lines.append(text + Self.row(columns.count, step(event, count, device: to)))
        }
        return lines.joined(separator: "\n") + "\n"
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

    private func offsetText(_ event: Event) -> String { "\((event.at - record.startedAt).milliseconds)" }

    /// The content of a row: an arrow between two columns, or a text in one column.
    private enum Step {
        case arrow(from: Int, to: Int, String)
        case word(at: Int, String)
    }

    private func step(_ event: Event, _ count: Int, device: Int) -> Step {
        let times = count == 1 ? "" : " ×\(count)"
        switch event.event {
        case .signal(let kind, let side, _, _):
            return .arrow(from: side == .caller ? 0 : device, to: 1, kind.rawValue + times)
        case .delivered: return .arrow(from: 1, to: device, "offer")
        case .fetched: return .arrow(from: device, to: 1, "GET" + times)
        case .probe: return .arrow(from: 1, to: device, "ping")
        case .silenced(_, let why): return .arrow(from: device, to: 1, "silenced: \(why.rawValue)")
        case .probeFailed: return .word(at: device, "no answer")
        case .pushSent(_, let push, _): return .arrow(from: 1, to: 2, Self.word(for: push))
        case .pushResult(_, let status, _, _, _): return .arrow(from: 2, to: 1, status.map { "\($0)" } ?? "failed")
        case .pushCancelled: return .word(at: 1, "push cancelled")
        case .pushLowered: return .arrow(from: device, to: 1, "low priority")
        case .repeated(let event, _, let count): return .word(at: device, "\(event.rawValue) ×\(count) more")
        case .omitted(let count): return .word(at: 1, "\(count) events left out")
        case .ended(let reason): return .word(at: 1, "ended: \(reason.rawValue)")
        case .ringRefused(_, let from, let count):
            return .word(at: 1, "ring of \(from.text.printable) refused\(count > 1 ? " ×\(count)" : "")")
        case .noDevice: return .word(at: 1, "no device")
        case .doNotDisturb: return .word(at: 1, "do not disturb")
        case .takenOver(let node): return .word(at: 1, "taken over by \(node.printable)")
        case .scheduled(_, _, ScheduledRing.trial): return .word(at: 1, "scheduled, on trial")
        case .scheduled(_, _, let ring): return .word(at: 1, "scheduled, ring \(ring)")
        case .ringSkipped(let why): return .word(at: 1, "skipped: \(why.rawValue)")
        case .numberBlocked: return .word(at: 1, "number blocked")
        case .blocked, .callIDTaken, .tooManyCallers, .tokensRevoked, .restarted, .other:
            return .word(at: 1, event.event.name.printable)
        }
    }

    private static func word(for push: TimelineEvent.Push) -> String {
        switch push {
        case .missed: "missed call"
        case .over: "call over"
        case .alert: "alert"
        case .voip, .firebase, .web: "push"
        }
    }

    private static func heading(_ columns: [String]) -> String {
        var line = String(repeating: " ", count: offsetWidth)
        for column in columns {
            let shown = column.count > columnWidth - 2 ? String(column.prefix(columnWidth - 3)) + "…" : column
            line += shown + String(repeating: " ", count: columnWidth - shown.count)
        }
        return line.trimmingEnd()
    }

    private static func row(_ count: Int, _ step: Step) -> String {
        var cells = [Character](repeating: " ", count: columnWidth * count)
        for column in 0..<count { cells[column * columnWidth] = "│" }
        switch step {
        case .word(let column, let word):
            for (index, character) in word.prefix(columnWidth * (count - column) - 2).enumerated() {
                cells[column * columnWidth + 2 + index] = character
            }
        case .arrow(let from, let to, let label):
            let (left, right) = (min(from, to) * columnWidth, max(from, to) * columnWidth)
            for index in left + 1..<right { cells[index] = "─" }
            cells[to > from ? right - 1 : left + 1] = to > from ? "▶" : "◀"
            let shown = Array(" \(label) ".prefix(right - left - 4))
            for (index, character) in shown.enumerated() { cells[left + 3 + index] = character }
        }
        return String(cells).trimmingEnd()
    }

    /// Returns a device's id shortened to the width of a column.
    static func short(_ device: String) -> String {
        device.count <= columnWidth - 2 ? device : String(device.prefix(columnWidth - 3)) + "…"
    }
}

extension String {
    fileprivate func trimmingEnd() -> String {
        var text = self[...]
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }
}
