import Testing

@testable import Simulation

@Suite("A table of worlds that once broke an invariant")
struct KnownWorldTests {
    @Test("Each line names a world; comments and empty lines are skipped")
    func table() throws {
        let everything = Faults.all.union(.withholding)
        let worlds = try KnownWorld.table(
            "# seed calls faults\n\n 17 12 \(everything.rawValue)  # a ring\n18 3 0\n19 4 0 3\n20 5 4 schedules\n"
                + "21 6 2097152 backend\n22 7 0 3 backend\n"
        )
        #expect(worlds.map(\.seed) == [17, 18, 19, 20, 21, 22])
        #expect(worlds.map(\.calls) == [12, 3, 4, 5, 6, 7])
        #expect(worlds.map(\.faults) == [everything, [], [], .offline, .backend, []])
        #expect(worlds.map(\.nodes) == [0, 0, 3, 0, 0, 3])
        #expect(worlds.map(\.hasSchedules) == [false, false, false, true, false, false])
        #expect(worlds.map(\.hasBackend) == [false, false, false, false, true, true])
    }

    @Test(
        "A table with an invalid line is refused, and the error has the line's number",
        arguments: [
            "17 12", "17 0 1", "x 12 1", "17 12 4294967295", "17 12 1 9", "17 12 1 0", "17 12 1 3 3",
            "17 12 1 schedule", "17 12 262144", "17 12 524288", "17 12 2097152", "17 12 1 schedules backend",
            "17 12 1 backend 3",
        ]
    )
    func unreadable(_ line: String) {
        #expect(throws: KnownWorld.Unreadable(number: 2)) { try KnownWorld.table("17 12 8191\n" + line) }
    }
}
