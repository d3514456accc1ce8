import CallClient
import CallCore
import SeededRandom

/// The random values of these tests.
extension SeededGenerator {
    /// Creates a generator for one of several test cases.
    ///
    /// The seed is mixed before use, because two neighbouring seeds could otherwise give the same numbers, shifted.
    init(mixing seed: UInt64) {
        var mixer = SeededGenerator(seed: seed &* 0xD6E8_FEB8_6659_FD93 &+ 1)
        self.init(seed: mixer.next() ^ seed &<< 32)
    }

    mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

    mutating func pick<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &self)] }

    /// Returns a push that is valid, or in which some values are malformed or missing.
    mutating func push(at now: Moment) -> [String: PushValue] {
        let sent = Moment(milliseconds: now.milliseconds - Int64.random(in: -5_000..<60_000, using: &self))
        let call = pick(["c1", "c2", "m", "11-10"])
        var push = ClientBench.push(
            call: call,
            epoch: one(in: 4) ? nil : Int64.random(in: 1...3, using: &self),
            at: sent
        )
        if one(in: 3) { push["offer"] = .string("v=0 offer") }
        if one(in: 5) { push["scheduled"] = .bool(true) }
        guard one(in: 2) else { return push }
        let broken: [PushValue] = [
            .null, .other, .bool(true), .double(.nan), .double(1e300), .int(.min), .int(.max), .int(-1), .string(""),
            .string("\u{0}"), .string("10"), .string("p2p:"), .string(String(repeating: "x", count: 500)),
        ]
        for name in push.keys.sorted() where one(in: 4) { push[name] = one(in: 2) ? nil : pick(broken) }
        return push
    }
}
