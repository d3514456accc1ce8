import Testing

@Suite("A simulated world consists of owned parts")
struct WorldShapeTests {
    private static let files = Repository.sources.filter { $0.target == "Simulation" }
    /// The parts, in the order in which a world makes them: each may call those above it, and itself.
    private static let parts = [
        "Course", "Part", "Network", "Requests", "PushServices", "Turns", "Decider", "Backend", "OneServer",
        "ScheduleUsers", "ScheduleServer", "NodeLinks", "NodeDatabase", "NodesServer", "Users", "Apps", "Audit",
        "World",
    ]

    @Test("The world and each of its parts have at most 15 stored properties", arguments: parts)
    func properties(part: String) {
        let stored = Self.files.flatMap { file in
            ["final class \(part):", "final class \(part) {", "class \(part):", "class \(part) {"]
                .flatMap { file.storedProperties(of: $0) }
        }
        #expect(!stored.isEmpty, "the type is gone, or the pattern no longer finds its properties")
        #expect(stored.count <= 15, "\(stored)")
    }

    @Test("Every class that is a part of the world is known to these tests")
    func known() {
        let declared = Self.files.flatMap(\.code).compactMap {
            $0.prefixMatch(of: /(?:final )?class (\w+): (?:Part|OneServer)\b/)?.1
        }
        #expect(Set(declared.map(String.init)).union(["Course", "Part"]) == Set(Self.parts))
    }

    @Test("At most five files of the world call each other in a cycle: a server's outputs bring its switchboard inputs")
    func cycles() {
        let graph = CallGraph(
            of: Set(Self.parts),
            behind: ["ServerUnderTest": ["OneServer", "ScheduleServer", "NodesServer"]],
            in: Self.files
        )
        #expect(graph.functions.values.reduce(0, +) > 200, "the functions were not found")
        let cycle = graph.largestCycle
        #expect(cycle.contains { $0.hasSuffix("/Turns.swift") }, "the switchboard's outputs are carried out: \(cycle)")
        #expect(cycle.count <= 5, "\(cycle)")
    }
}
