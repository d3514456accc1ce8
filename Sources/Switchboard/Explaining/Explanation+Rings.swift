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
            ? ("rings from one caller to one callee", "--rings-per-pair")
            : ("rings to one callee", "--rings-per-callee")
        let from = Self.printable(event.from ?? "a caller")
        guard let count = event.count, count > 1 else {
            return "After this, \(from) rang again at \(offset(event.at)) and was refused by the limit on "
                + "\(limit) (\(setting))."
        }
        return
            "After this, at least \(count) more rings were refused, one of them from \(from) at \(offset(event.at)), "
            + "by the limit on \(limit) (\(setting))."
    }
}
