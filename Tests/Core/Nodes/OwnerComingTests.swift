import CallCore
import Testing

@testable import Nodes

@Suite("Sockets that wait for a node that reads the calls")
struct OwnerComingTests {
    private typealias Bench = AttachmentBench

    @Test("While a node reads the calls that it has claimed, the sockets stay open, for a minute at most")
    func ownerComing() throws {
        var bench = try Bench()
        bench.open(1)
        bench.give(.detached)
        #expect(bench.wait(9_000) == [.ready(false)])
        bench.give(.ownerComing)
        #expect(bench.wait(9_999) == [])
        #expect(bench.wait(1) == [Bench.closing(1)], "nobody has said so again")
        bench.give(.attached(Bench.epoch(6)))
        bench.open(2)
        bench.give(.confirmed(Bench.epoch(6), upTo: 2))
        bench.give(.detached)
        var closed: [Attachment.Effect] = []
        for _ in 0..<59 {
            bench.give(.ownerComing)
            closed += bench.wait(1_000)
        }
        #expect(closed == [.ready(false)])
        #expect(bench.wait(1_000) == [Bench.closing(2)])
        bench.give(.ownerComing)
        #expect(bench.attachment.deadline == nil, "there is nothing left to close")
    }

    @Test("An owner that comes while sockets wait for it adopts them")
    func ownerCame() throws {
        var bench = try Bench()
        bench.open(1)
        bench.give(.detached)
        for _ in 0..<3 {
            bench.give(.ownerComing)
            _ = bench.wait(9_000)
        }
        bench.give(.ownerComing)
        let effects = bench.give(.attached(Bench.epoch(6)))
        #expect(effects.contains { if case .adopt(let one) = $0 { one.socket == Bench.socket(1) } else { false } })
        bench.give(.ownerComing)
        #expect(bench.wait(100_000) == [], "a late word changes nothing")
    }
}
