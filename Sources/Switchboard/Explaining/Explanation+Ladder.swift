import CallCore
import CallPorts

/// The ladder: which party sent what to which other one, and when.
///
/// Columns are the caller, the server, APNs and each device of the callee; offsets are in milliseconds from the offer.
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

    var ladder: String {
        let devices = calleeDevices
        let columns = ["caller \(record.caller.text)", "server", "APNs"] + devices.map { Self.short($0) }
        var lines = [Self.heading(columns)]
        for (event, count) in rungs {
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
    /// Numerous events of little interest share one row for each sender, until another event follows.
    private var rungs: [(Event, count: Int)] {
        let numerous: Set<String> = ["signal.ice", "signal.info", "signal.dtmf", "signal.update", "fetched"]
        var rows: [(Event, count: Int)] = []
        var run: [String: Int] = [:]
        for event in events {
            guard numerous.contains(event.name) else {
                rows.append((event, 1))
                run = [:]
                continue
            }
            let key = "\(event.name) \(event.side?.rawValue ?? "") \(event.device ?? "")"
            if let row = run[key] {
                rows[row].count += 1
            } else {
                run[key] = rows.count
                rows.append((event, 1))
            }
        }
        return rows
    }

    private func offsetText(_ event: Event) -> String { "\((event.at - record.startedAt).milliseconds)" }

    /// The content of a row: an arrow between two columns, or a word at one.
    private enum Step {
        case arrow(from: Int, to: Int, String)
        case word(at: Int, String)
    }

    private func step(_ event: Event, _ count: Int, device: Int) -> Step {
        let times = count == 1 ? "" : " ×\(count)"
        if let signal = event.signal {
            return .arrow(from: event.side == .caller ? 0 : device, to: 1, signal + times)
        }
        switch event.name {
        case "delivered.socket": return .arrow(from: 1, to: device, "offer")
        case "fetched": return .arrow(from: device, to: 1, "GET" + times)
        case "probe": return .arrow(from: 1, to: device, "ping")
        case "probe.failed": return .word(at: device, "no answer")
        case "push.sent": return .arrow(from: 1, to: 2, Self.push(event.kind))
        case "push.result": return .arrow(from: 2, to: 1, event.status.map { "\($0)" } ?? "failed")
        case "push.cancelled": return .word(at: 1, "push cancelled")
        case "repeated":
            return .word(at: device, "\(Self.printable(event.repeated ?? "")) ×\(event.count ?? 0) more")
        case "omitted": return .word(at: 1, "\(event.count ?? 0) events left out")
        case "ended": return .word(at: 1, "ended: \(event.reason ?? "")")
        case "ring.refused":
            let count = event.count ?? 1
            return .word(at: 1, "ring of \(Self.printable(event.from ?? "")) refused\(count > 1 ? " ×\(count)" : "")")
        case "no_device": return .word(at: 1, "no device")
        case "dnd": return .word(at: 1, "do not disturb")
        default: return .word(at: 1, Self.printable(event.name))
        }
    }

    private static func push(_ kind: String?) -> String {
        switch kind {
        case "missed": "missed call"
        case "alert": "alert"
        default: "push"
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
