import ServerLog
import Testing

@Suite("The limit of lines that outsiders cause")
struct LineLimitTests {
    private typealias Limit = LineLimit<String>

    @Test("One account gets its lines in a minute, and another account still gets its own")
    func share() {
        var limit = Limit()
        let lines = (0..<1_000).count { _ in limit.admits("failed", of: "10", at: 30) }
        #expect(lines == Limit.linesOfAccount)
        let others = [limit.admits("failed", of: "11", at: 30), limit.admits("other", of: "10", at: 30)]
        #expect(others == [true, true])
        let later = [limit.admits("failed", of: "10", at: 59), limit.admits("failed", of: "10", at: 60)]
        #expect(later == [false, true])
    }

    @Test("Many accounts together get the lines of one kind")
    func all() {
        var limit = Limit()
        let lines = (0..<1_000).count { limit.admits("failed", of: "user-\($0)", at: 1) }
        #expect(lines == Limit.linesOfKind)
        let other = limit.admits("other", of: nil, at: 1)
        #expect(other)
    }

    @Test("The suppressed lines of a kind make one sum")
    func sums() {
        var limit = Limit()
        for second in 0..<100 { for _ in 0..<3 { _ = limit.admits("failed", of: nil, at: Int64(second)) } }
        let early = limit.takeSums(at: 2 + Limit.sumSeconds)
        #expect(early.isEmpty, "the first line was suppressed in second 3")
        let sums = limit.takeSums(at: 100)
        #expect(sums.map(\.kind) == ["failed"] && sums.map(\.count) == [280])
        let rest = limit.takeSums(at: nil)
        #expect(rest.isEmpty && limit.suppressed == 280)
    }
}
