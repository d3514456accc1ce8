import CallCore
import CallPorts
import Testing

@testable import Nodes

@Suite("The shares of what waits at an edge for an owner")
struct WaitingShareTests {
    private typealias Bench = AttachmentBench

    /// An edge without an owner; its sockets are of different users, and the owner had confirmed them.
    private static func ownerless(sockets: ClosedRange<UInt64>) throws -> AttachmentBench {
        var bench = try Bench()
        for number in sockets { bench.open(number, by: "user-\(number)") }
        bench.give(.detached)
        return bench
    }

    private static func message(_ bytes: Int) -> String { String(repeating: "a", count: bytes) }

    @Test("A socket that sends more than its share is closed, and the others are not")
    func socket() throws {
        var bench = try Self.ownerless(sockets: 1...2)
        #expect(bench.receive(Self.message(1_000), on: 2) == [])
        // The largest message fits once.
        #expect(bench.receive(Self.message(65_536), on: 1) == [])
        #expect(bench.receive("b", on: 1) == [Bench.closing(1)])
        #expect(bench.receive("c", on: 1) == [])
        #expect(bench.attachment.refusedForShare == 1)
        #expect(bench.attachment.bytesWaiting == 1_000 + NodeLimits.eventOverhead)
        #expect(bench.receive("d", on: 2) == [])
        let effects = bench.give(.attached(Bench.epoch(6)))
        #expect(effects.count == 4)
        for effect in effects {
            if case .pass(_, let event) = effect { #expect(event.socket == Bench.socket(2)) }
        }
    }

    @Test("A user's sockets have a share together, also if the user closes them and opens others")
    func user() throws {
        var bench = try Self.ownerless(sockets: 1...1)
        var refused = 0
        for number: UInt64 in 10..<1_000 {
            let socket = Bench.socket(number)
            refused += bench.give(.event(.opened(socket, bench.principal, device: nil))).count
            refused += bench.receive(Self.message(60_000), on: number).count
            bench.give(.event(.closed(socket, code: 1000)))
        }
        #expect(refused > 900)
        #expect(bench.attachment.bytesWaiting < 600_000)
        #expect(bench.receive("a", on: 1) == [])
    }

    @Test("A user who only opens sockets uses a share")
    func opens() throws {
        var bench = try Self.ownerless(sockets: 1...1)
        for number: UInt64 in 10..<20_000 {
            bench.give(.event(.opened(Bench.socket(number), bench.principal, device: nil)))
        }
        #expect(bench.attachment.bytesWaiting < NodeLimits.waitingEventsOfUser + 1_000)
        #expect(bench.attachment.socketCount < 5_000)
        #expect(bench.receive("a", on: 1) == [])
    }

    @Test("The name and the rooms of a token count, so a user with a large token uses a share with few sockets")
    func largeTokens() throws {
        for (name, rooms) in [(Self.message(20_000), 0), ("", 100)] {
            var bench = try Self.ownerless(sockets: 1...1)
            var principal = bench.principal
            principal.name = name
            principal.rooms = Set((0..<rooms).map { "\($0)" + Self.message(200) })
            for number: UInt64 in 10..<100 {
                bench.give(.event(.opened(Bench.socket(number), principal, device: nil)))
            }
            #expect(bench.attachment.refusedForShare > 70)
            #expect(bench.attachment.bytesWaiting < NodeLimits.waitingEventsOfUser + 25_000)
        }
    }

    @Test("What waits is passed on in order, without the events of sockets that were closed")
    func order() throws {
        var bench = try Self.ownerless(sockets: 1...40)
        var expected: [SocketID] = []
        for round in 0..<5 {
            for number: UInt64 in 1...40 where number > 35 || round < 2 {
                let isLast = number <= 35 && round == 1
                // In the second round the message of most sockets does not fit, and they are closed.
                if isLast { bench.receive(Self.message(65_536), on: number) }
                bench.receive("m", on: number)
                if number > 35 { expected.append(Bench.socket(number)) }
            }
        }
        #expect(bench.attachment.refusedForShare == 35)
        #expect(bench.attachment.bytesWaiting == expected.count * (1 + NodeLimits.eventOverhead))
        let passed = bench.give(.attached(Bench.epoch(6))).compactMap { effect in
            if case .pass(_, let event) = effect { event.socket } else { nil }
        }
        #expect(passed == expected)
    }

    @Test("Requests and Socket.IO sessions, whose users the edge does not know, leave room for the sockets of users")
    func unknown() throws {
        var bench = try Self.ownerless(sockets: 1...1)
        let head = RequestHead(path: "/")
        var refused = 0
        for number: UInt64 in 10..<500 {
            let exchange = RequestID(rawValue: number)
            let request = SocketEvent.requested(exchange, head, body: Array(repeating: 65, count: 60_000))
            refused += bench.give(.event(request)) == [.refuse(exchange)] ? 1 : 0
            bench.give(.event(.openedSocketIO(Bench.socket(number), head)))
            bench.receive(Self.message(60_000), on: number)
        }
        #expect(refused > 400)
        #expect(bench.attachment.bytesWaiting < 5 << 20)
        #expect(bench.receive("a", on: 1) == [])
        #expect(bench.wait(10_000).contains(Bench.closing(1)))
        #expect(bench.attachment.bytesWaiting == 0)
    }
}
