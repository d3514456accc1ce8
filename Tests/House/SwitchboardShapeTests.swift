import Testing

@Suite("The switchboard consists of owned parts")
struct SwitchboardShapeTests {
    private static let files = Repository.sources.filter { $0.target == "Switchboard" }

    @Test("The switchboard has at most 15 stored properties; other state belongs to parts with tests of their own")
    func properties() {
        let stored = Self.files.flatMap { $0.storedProperties(of: "package struct Switchboard:") }
        #expect(stored.count > 10, "the pattern no longer finds the properties")
        #expect(stored.count <= 15, "\(stored)")
    }

    @Test("At most five files of the switchboard call each other in a cycle, so that a signal's path reads top-down")
    func cycles() {
        let graph = CallGraph(of: "Switchboard", in: Self.files)
        #expect(graph.functions.count > 20, "the functions were not found")
        #expect(graph.functions.values.reduce(0, +) > 100)
        let cycle = graph.largestCycle
        #expect(
            cycle.contains { $0.hasSuffix("+CallExecution.swift") },
            "calls drive polls, which drive calls: \(cycle)"
        )
        #expect(cycle.count <= 5, "\(cycle)")
    }

    @Test("The call graph finds a cycle in a text")
    func findsCycles() {
        func file(_ name: String, _ code: String) -> SwiftFile {
            SwiftFile(path: "Sources/X/\(name).swift", text: "extension X {\n\(code)\n}\n")
        }
        let graph = CallGraph(
            of: "X",
            in: [
                file("A", "    func a(_ n: Int, at: Int = 0) { b(of: n) }"),
                file("B", "    func b(of n: Int) { self.c() }\n    private func a() {}"),
                file("C", "    func c() { other.c(); a(3) }"),
                // Not counted: a private function of another file, other labels, and another receiver's method.
                file("D", "    func d() { a(at: 1, to: 2); b(3); other.b(of: 3) }\n    func e(of: Int) { c() }"),
            ]
        )
        #expect(graph.largestCycle == ["A", "B", "C"].map { "Sources/X/\($0).swift" })
        #expect(graph.calls["Sources/X/D.swift"] == ["Sources/X/C.swift"])
    }

    @Test("The call graph follows a property to the type of its part, but not to another part's function of that name")
    func followsParts() {
        func file(_ name: String, _ text: String) -> SwiftFile {
            SwiftFile(path: "Sources/X/\(name).swift", text: text)
        }
        let graph = CallGraph(
            of: ["A", "B", "C", "D"],
            behind: ["Server": ["C", "D"]],
            in: [
                file("A", "final class A: Part {\n    let b: B\n    func a() { b.go(to: 1) }\n}\n"),
                file(
                    "B",
                    "final class B {\n    unowned var server: (any Server)?\n    func go(to: Int) { server?.carry(3) }\n}\n"
                ),
                file(
                    "C",
                    "final class C: Server {\n    func carry(_ n: Int) { go(to: n) }\n    func go(to: Int) {}\n}\n"
                ),
                file(
                    "D",
                    "final class D: Server {\n    let a: A\n}\nextension D {\n    func carry(_ n: Int) { a.a() }\n}\n"
                ),
            ]
        )
        #expect(graph.calls["Sources/X/B.swift"] == ["Sources/X/C.swift", "Sources/X/D.swift"])
        #expect(graph.calls["Sources/X/C.swift"] == nil)
        #expect(graph.largestCycle == ["A", "B", "D"].map { "Sources/X/\($0).swift" })
    }
}
