import Testing

@Suite("The page WalkOfAnOffer")
struct WalkTests {
    private static let page = Repository.text(of: "Sources/Server/ringline/ringline.docc/WalkOfAnOffer.md")

    /// The stops: each is a numbered line with a file and a function.
    private static let stops: [(number: Int, path: String, function: String)] =
        page.split(separator: "\n").compactMap { line in
            line.prefixMatch(of: #/(\d+)\. `([^`]+)`: `(\w+)` - /#)
                .map { (Int($0.1) ?? 0, String($0.2), String($0.3)) }
        }

    @Test("The page has 10 to 16 stops, numbered in order")
    func isShort() {
        #expect((10...16).contains(Self.stops.count))
        #expect(Self.stops.map(\.number) == Array(1...Self.stops.count))
        let numbered = Self.page.split(separator: "\n").count { $0.prefixMatch(of: #/\d+\. /#) != nil }
        #expect(numbered == Self.stops.count, "each numbered line names a file and a function")
    }

    @Test("Each stop's function is in the stop's file")
    func functionsExist() {
        let wrong = Self.stops.filter { stop in
            guard let file = Repository.swift.first(where: { $0.path == stop.path }) else { return true }
            return !file.code.contains { $0.contains("func \(stop.function)(") }
        }
        expectNone(wrong.map { "\($0.number). \($0.path): \($0.function)" }, "the function is not in this file")
    }
}
