/// A world that broke an invariant once, as a line of the table that `ringline simulate --replay` reads:
/// `SEED CALLS FAULTS`, and behind a `#` the defect that it showed.
public struct KnownWorld: Equatable, Sendable {
    /// The world's seed.
    public let seed: UInt64
    /// How many calls its users set out to make.
    public let calls: Int
    /// The faults in it.
    public let faults: Faults

    /// Reads one line; `nil` when it names no world.
    public init?(line: some StringProtocol) {
        let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
        guard words.count == 3, let seed = UInt64(words[0]), let calls = Int(words[1]), calls > 0,
            let bits = UInt32(words[2]), Faults.all.isSuperset(of: Faults(rawValue: bits))
        else { return nil }
        self.seed = seed
        self.calls = calls
        faults = Faults(rawValue: bits)
    }

    /// The worlds of a whole table; comments and empty lines name none.
    ///
    /// - Throws: ``Unreadable`` at the first line that is neither a world, nor a comment, nor empty.
    public static func table(_ text: String) throws(Unreadable) -> [KnownWorld] {
        var worlds: [KnownWorld] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let first = line.first(where: { !$0.isWhitespace }), first != "#" else { continue }
            guard let world = KnownWorld(line: line) else { throw Unreadable(number: number + 1) }
            worlds.append(world)
        }
        return worlds
    }

    /// A line of a table that names no world.
    public struct Unreadable: Error, Equatable {
        /// Its number, from 1.
        public let number: Int
    }
}
