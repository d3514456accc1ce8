import CallCore

/// Rings after a call that were refused: they explain why a device did not ring again.
extension Explanation {
    /// A line for each limit that refused further rings.
    var refusedRings: [String] {
        var last: [String: Event] = [:]
        for event in events where event.name == "ring.refused" { last[event.limit ?? ""] = event }
        return last.keys.sorted().compactMap { last[$0].map(line(for:)) }
    }

    private func line(for event: Event) -> String {
        let (limit, setting) =
            event.limit == Metrics.Limited.Limit.ringsPerPair.rawValue
            ? ("one caller may ring one callee", "--rings-per-pair")
            : ("one callee may be rung", "--rings-per-callee")
        let from = Self.printable(event.from ?? "a caller")
        guard let count = event.count, count > 1 else {
            return "After this \(from) rang once more at \(offset(event.at)), and was refused: only so often "
                + "\(limit) (\(setting))."
        }
        return "After this at least \(count) further rings were refused, one of them \(from)'s at \(offset(event.at)): "
            + "only so often \(limit) (\(setting))."
    }
}
