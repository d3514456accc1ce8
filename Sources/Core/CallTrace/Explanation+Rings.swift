import CallCore
import CallPorts

/// Refused rings after a call, which explain why a device did not ring again.
extension Explanation {
    /// A line for each limit that refused further rings.
    var refusedRings: [String] {
        var last: [TimelineEvent.RingLimit: String] = [:]
        for event in events {
            guard case .ringRefused(let limit, let from, let count) = event.event else { continue }
            last[limit] = line(limit, from: from.text.printable, count, at: offset(event.at))
        }
        // The limit of a callee comes before that of a pair.
        return [TimelineEvent.RingLimit.perCallee, .perPair].compactMap { last[$0] }
    }

    private func line(_ limit: TimelineEvent.RingLimit, from: String, _ count: Int, at offset: String) -> String {
        let (words, setting) =
            switch limit {
            case .perPair: ("rings from one caller to one callee", "--rings-per-pair")
            case .perCallee: ("rings to one callee", "--rings-per-callee")
            }
        guard count > 1 else {
            return "After this, \(from) rang again at \(offset) and was refused by the limit on "
                + "\(words) (\(setting))."
        }
        return "After this, at least \(count) more rings were refused, one of them from \(from) at \(offset), "
            + "by the limit on \(words) (\(setting))."
    }
}
