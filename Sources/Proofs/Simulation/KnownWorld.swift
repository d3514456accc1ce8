/// A world that once broke an invariant, as a line of the table that `ringline-simulate --replay` reads.
///
/// The line is `SEED CALLS FAULTS`, for a server of several nodes `SEED CALLS FAULTS NODES`, for a world with schedules
/// `SEED ACTIONS FAULTS schedules`; with an app's backend, `backend` follows. A `#` and the defect that the world showed
/// end the line.
package struct KnownWorld: Equatable, Sendable {
    /// The seed of the world.
    package let seed: UInt64
    /// The number of calls that its users plan to make, or the number of their actions in a world with schedules.
    package let calls: Int
    /// The faults that it injects.
    package let faults: Faults
    /// The number of nodes of its server; 0 = one server, which is no node.
    package let nodes: Int
    /// Whether its users have schedules.
    package let hasSchedules: Bool
    /// Whether its server reports its calls to an app's backend.
    package let hasBackend: Bool

    /// Reads one line; `nil` when the line does not describe a world.
    package init?(line: some StringProtocol) {
        var words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
        hasBackend = words.last == "backend"
        if hasBackend { words.removeLast() }
        guard words.count == 3 || words.count == 4, let seed = UInt64(words[0]), let calls = Int(words[1]), calls > 0,
            let bits = UInt32(words[2]), Faults.known.isSuperset(of: Faults(rawValue: bits)),
            case let last = words.count == 3 ? "0" : words[3], let nodes = last == "schedules" ? 0 : Int(last),
            words.count == 3 || last == "schedules" && !hasBackend || Simulation.nodeCounts ~= nodes,
            nodes > 0 || Faults(rawValue: bits).isDisjoint(with: [.takeOver, .unnamed, .halfCuts]),
            hasBackend || !Faults(rawValue: bits).contains(.backend)
        else { return nil }
        hasSchedules = last == "schedules"
        self.seed = seed
        self.calls = calls
        faults = Faults(rawValue: bits)
        self.nodes = nodes
    }

    /// Reads a whole table; comments and empty lines are skipped.
    ///
    /// - Throws: ``Unreadable`` at the first line that is neither a world, nor a comment, nor empty.
    package static func table(_ text: String) throws(Unreadable) -> [KnownWorld] {
        var worlds: [KnownWorld] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let first = line.first(where: { !$0.isWhitespace }), first != "#" else { continue }
            guard let world = KnownWorld(line: line) else { throw Unreadable(number: number + 1) }
            worlds.append(world)
        }
        return worlds
    }

    /// The error for a line of a table that does not describe a world.
    package struct Unreadable: Error, Equatable {
        /// The number of the line, from 1.
        package let number: Int
    }
}
