import Testing

@Suite("The gateway and its node consist of owned parts")
struct GatewayShapeTests {
    @Test("The gateway and the node together have at most 30 stored properties; other state belongs to their parts")
    func properties() {
        let gateway = stored("Gateway.swift", "package final class Gateway:")
        let node = stored("Nodes/Node.swift", "final class Node {")
        #expect(gateway.count > 10 && node.count > 5, "the pattern no longer finds the properties")
        #expect(gateway.count + node.count <= 30, "\(gateway + node)")
    }

    /// The stored properties of the type that begins with this line.
    private func stored(_ path: String, _ start: String) -> [String] {
        let file = Repository.sources.first { $0.path == "Sources/Server/Gateway/\(path)" }
        return file?.storedProperties(of: start) ?? []
    }
}
