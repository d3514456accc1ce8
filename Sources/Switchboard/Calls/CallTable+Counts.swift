import CallCore

extension CallTable {
    /// Returns the number of live calls in each state.
    func countByState() -> [CallState: Int] {
        var counts: [CallState: Int] = [.ringing: 0, .answered: 0, .active: 0]
        forEachLive { counts[$0.session.state, default: 0] += 1 }
        return counts
    }
}
