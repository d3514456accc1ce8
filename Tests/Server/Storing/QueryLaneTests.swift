import CallCore
import CallPorts
import CallTesting
import Storing
import Testing

@Suite("The lanes of queries")
struct QueryLaneTests {
    private static func query(_ query: StoreQuery, _ id: UInt64) -> WriterQueue.SubmittedQuery {
        WriterQueue.SubmittedQuery(query: query, id: StoreQueryID(rawValue: id))
    }

    private static func user(_ name: String) throws -> UserID { try #require(UserID(name)) }

    private static func load(_ id: UInt64) -> WriterQueue.SubmittedQuery {
        query(.log(CallNumber(rawValue: Int64(id))), id)
    }

    private static func history(_ name: String, _ id: UInt64) throws -> WriterQueue.SubmittedQuery {
        query(.history(try user(name), limit: 1, before: nil), id)
    }

    private static func page(_ name: String, _ id: UInt64) throws -> WriterQueue.SubmittedQuery {
        query(.numbers(NumberRead(user: try user(name), list: .identities, cursor: nil, limit: 1)), id)
    }

    /// Runs all waiting queries; returns their numbers in the order in which they ran.
    private static func run(_ queue: QueryQueue) -> [UInt64] {
        var ids: [UInt64] = []
        queue.close()
        while let next = queue.next() { if case .run(let query) = next { ids.append(query.id.rawValue) } }
        return ids
    }

    @Test("What a call waits for comes first, a user's own reads next, and pages of lists last")
    func order() throws {
        let queue = QueryQueue()
        queue.put([try Self.page("a", 1), try Self.history("a", 2), Self.load(3), try Self.page("b", 4), Self.load(5)])
        #expect(queue.takeAll().map(\.id.rawValue) == [3, 5, 2, 1, 4])
    }

    @Test("The users of a lane take turns, each in the order of their own queries")
    func turns() throws {
        let queue = QueryQueue()
        queue.put(try (1...3).map { try Self.page("a", $0) })
        queue.put([try Self.page("b", 4), try Self.page("c", 5), try Self.page("b", 6)])
        #expect(queue.takeAll().map(\.id.rawValue) == [1, 4, 5, 2, 6, 3])
    }

    @Test("A lane has a turn after many queries of more urgent lanes")
    func patience() throws {
        let queue = QueryQueue()
        queue.put([try Self.page("a", 1), try Self.history("a", 2)])
        queue.put((3...60).map(Self.load))
        let order = queue.takeAll().map(\.id.rawValue)
        let (page, history) = (try #require(order.firstIndex(of: 1)), try #require(order.firstIndex(of: 2)))
        #expect(page < 40 && history < 40 && Set(order).count == 60)
    }

    @Test("A queue that is closed runs what waits, except pages of lists")
    func closing() throws {
        let queue = QueryQueue()
        queue.put([try Self.page("a", 1), try Self.history("a", 2), Self.load(3)])
        queue.close()
        var refused: [UInt64] = []
        var run: [UInt64] = []
        while let next = queue.next() {
            switch next {
            case .run(let query): run.append(query.id.rawValue)
            case .refuse(let query): refused.append(query.id.rawValue)
            }
        }
        #expect(run == [3, 2] && refused == [1])
    }

    @Test("Thousands of queries leave in order")
    func many() throws {
        let queue = QueryQueue()
        queue.put((1...5_000).map(Self.load))
        #expect(Self.run(queue) == Array(1...5_000))
    }
}
