import Testing

@Suite("The pages that walk through the code")
struct WalkTests {
    /// The pages, each with the most stops that it may have.
    private static let pages = ["WalkOfAnOffer": 16, "WalkOfAPush": 18, "WalkOfAFetch": 16, "WalkOfAFrame": 24]

    private static func text(_ page: String) -> String {
        Repository.text(of: "Sources/Server/ringline/ringline.docc/\(page).md")
    }

    /// The stops: each is a numbered line with a file and a function.
    private static func stops(_ page: String) -> [(number: Int, path: String, function: String)] {
        text(page).split(separator: "\n").compactMap { line in
            line.prefixMatch(of: #/(\d+)\. `([^`]+)`: `(\w+)` - /#)
                .map { (Int($0.1) ?? 0, String($0.2), String($0.3)) }
        }
    }

    @Test("A walk is short, and its stops are numbered in order", arguments: pages.keys.sorted())
    func isShort(page: String) throws {
        let stops = Self.stops(page)
        let most = try #require(Self.pages[page])
        #expect((10...most).contains(stops.count))
        #expect(stops.map(\.number) == Array(1...stops.count))
        let numbered = Self.text(page).split(separator: "\n").count { $0.prefixMatch(of: #/\d+\. /#) != nil }
        #expect(numbered == stops.count, "each numbered line names a file and a function")
    }

    @Test("Each stop's function is in the stop's file", arguments: pages.keys.sorted())
    func functionsExist(page: String) {
        let wrong = Self.stops(page).filter { stop in
            guard let file = Repository.swift.first(where: { $0.path == stop.path }) else { return true }
            return !file.code.contains { $0.contains("func \(stop.function)(") }
        }
        expectNone(wrong.map { "\($0.number). \($0.path): \($0.function)" }, "the function is not in this file")
    }
}
