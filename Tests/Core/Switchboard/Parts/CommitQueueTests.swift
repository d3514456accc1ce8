import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("The queue of commits")
struct CommitQueueTests {
    private func batches(_ outputs: [Switchboard.Output]) -> [(Int, Ticket)] {
        outputs.compactMap { if case .commit(let batch, let ticket) = $0 { (batch.count, ticket) } else { nil } }
    }

    @Test("A flush commits all changes as one batch, with a changed call once; without changes it commits nothing")
    func batch() throws {
        var queue = CommitQueue()
        var outputs: [Switchboard.Output] = []
        queue.flush(at: Values.now, into: &outputs)
        #expect(outputs.isEmpty)
        let call = try Values.call()
        queue.markDirty(call)
        queue.markDirty(call)
        queue.append(.uncleanStartsForgotten)
        #expect(queue.hasChanges)
        queue.flush(at: Values.now, into: &outputs)
        #expect(batches(outputs).map(\.0) == [2])
        #expect(!queue.hasChanges && !call.isDirty)
    }

    @Test("Replies wait for the commit of their changes and keep their order, and the wait is measured")
    func replies() {
        var queue = CommitQueue()
        var metrics = Metrics()
        var outputs: [Switchboard.Output] = []
        #expect(queue.isDurable, "there is nothing to wait for")
        for number in 1...2 {
            queue.append(.uncleanStartsForgotten)
            #expect(!queue.isDurable)
            queue.wait(.done(OperatorCommandID(rawValue: UInt64(number))), since: Values.now)
            queue.flush(at: Values.now, into: &outputs)
        }
        let tickets = batches(outputs).map(\.1)
        outputs = []
        #expect(queue.commitsUnderWay == 2)
        queue.confirm(upTo: tickets[0], at: Values.now + .milliseconds(3), metrics: &metrics)
        #expect(queue.commitsUnderWay == 1)
        _ = queue.sendDurable(at: Values.now + .milliseconds(3), metrics: &metrics, into: &outputs)
        #expect(done(outputs) == [1])
        #expect(!queue.isDurable)
        queue.confirm(upTo: tickets[1], at: Values.now + .milliseconds(4), metrics: &metrics)
        _ = queue.sendDurable(at: Values.now + .milliseconds(4), metrics: &metrics, into: &outputs)
        #expect(done(outputs) == [1, 2])
        #expect(queue.isDurable && queue.waitingCount == 0)
        #expect(metrics.ackMilliseconds.sum == 7)
        #expect(metrics.commitMilliseconds.sum == 7)
    }

    @Test("At a stall the waiting requests are removed from the queue, and the waiting acks stay in it")
    func stall() throws {
        var queue = CommitQueue()
        queue.append(.uncleanStartsForgotten)
        queue.wait(.reply(RequestID(rawValue: 5), Reply(body: [])), since: Values.now)
        queue.wait(.frame(SocketID(rawValue: 6), []), since: Values.now)
        queue.wait(.reply(RequestID(rawValue: 7), Reply(body: [])), since: Values.now)
        let requests = queue.takeRequests()
        #expect(requests == [RequestID(rawValue: 5), RequestID(rawValue: 7)])
        #expect(queue.waitingCount == 1)
    }

    private func done(_ outputs: [Switchboard.Output]) -> [UInt64] {
        outputs.compactMap { if case .done(let id) = $0 { id.rawValue } else { nil } }
    }
}
