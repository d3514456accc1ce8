import Testing

@testable import Simulation

@Suite("A table of worlds that once broke an invariant")
struct KnownWorldTests {
    @Test("Each line names a world; comments and empty lines are skipped")
    func table() throws {
        let everything = Faults.all.union(.withholding)
        let worlds = try KnownWorld.table(
            "# seed calls faults\n\n 17 12 \(everything.rawValue)  # a ring\n18 3 0\n19 4 0 3\n"
        )
        #expect(worlds.map(\.seed) == [17, 18, 19])
        #expect(worlds.map(\.calls) == [12, 3, 4])
        #expect(worlds.map(\.faults) == [everything, [], []])
        #expect(worlds.map(\.nodes) == [0, 0, 3])
    }

    @Test(
        "A table with an invalid line is refused, and the error has the line's number",
        arguments: ["17 12", "17 0 1", "x 12 1", "17 12 4294967295", "17 12 1 9", "17 12 1 0", "17 12 1 3 3"]
    )
    func unreadable(_ line: String) {
        #expect(throws: KnownWorld.Unreadable(number: 2)) { try KnownWorld.table("17 12 8191\n" + line) }
    }
}
