import Testing

@Suite("The switchboard consists of owned parts")
struct SwitchboardShapeTests {
    private static let files = Repository.sources.filter { $0.target == "Switchboard" }

    @Test("The switchboard has at most 15 stored properties; other state belongs to parts with tests of their own")
    func properties() {
        let file = Self.files.first { $0.path.hasSuffix("/Switchboard.swift") }
        let body = (file?.code ?? []).drop { !$0.hasPrefix("package struct Switchboard:") }.prefix { $0 != "}" }
        #expect(!body.isEmpty, "the file no longer contains the type")
        let stored = body.filter {
            $0.contains(/^    (\S+ )*(let|var) \w+(: [^{]+)?( = .*)?$/) && !$0.contains("func ")
        }
        #expect(stored.count > 10, "the pattern no longer finds the properties")
        #expect(stored.count <= 15, "\(stored.map { $0.trimmingPrefix(while: \.isWhitespace) })")
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
}
