import CallClient
import CallCore
import Testing

@Suite("A push for another user than the one of this device")
struct OtherUserPushTests {
    private func push(
        _ bench: ClientBench,
        to user: PushValue,
        _ change: [String: PushValue] = [:]
    ) -> [String: PushValue] {
        var push = ClientBench.push(at: bench.now)
        push["toUserId"] = user
        push["act"] = .string("capability")
        return push.merging(change) { $1 }
    }

    private func isReportedAndEnded(_ outputs: [CallClient.Output]) -> Bool {
        guard outputs.count >= 2, case .reportIncoming(let uuid, let peer) = outputs[0] else { return false }
        return outputs[1] == .reportEnded(uuid, .failed) && peer.name == nil && peer.handle == "unknown"
    }

    @Test("It is reported without a name, ended at once, and told to the server with its own capability")
    func told() throws {
        var bench = ClientBench(isOpen: false)
        let outputs = bench.take(.pushed(push(bench, to: .string("20"))))
        #expect(isReportedAndEnded(outputs))
        #expect(outputs.count == 3 && bench.client.calls.isEmpty && bench.client.unacknowledgedCount == 0)
        guard case .post(let signal, .capability("capability"))? = outputs.last else {
            return #expect(Bool(false), "\(outputs)")
        }
        #expect(signal.content == .silenced(.otherUser) && signal.peer.text == "11" && signal.epoch == 1)
        let body = String(decoding: signal.body, as: UTF8.self)
        #expect(body.hasSuffix(#""data":{"shown":false,"why":"otherUser"}}"#), "\(body)")
        #expect(bench.take(.posted(signal.id, .failure(.unreachable))).isEmpty, "it is told once")
    }

    @Test("Whatever else it contains, it is reported and ended, and rings nothing")
    func broken() {
        let changes: [[String: PushValue]] = [
            ["callId": .null], ["fromUserId": .null, "callerId": .null, "handle": .null],
            ["type": .string("call.other")],
            ["act": .null], ["epoch": .string("x")], ["scheduled": .bool(true)], ["ringUntil": .int(1)],
        ]
        for change in changes {
            var bench = ClientBench(isOpen: false)
            let outputs = bench.take(.pushed(push(bench, to: .int(20), change)))
            #expect(isReportedAndEnded(outputs), "\(change)")
            #expect(bench.client.calls.isEmpty)
        }
    }

    @Test("A call of this user with the same callId and caller rings after it, and goes on when it comes again")
    func sameCall() throws {
        var bench = ClientBench(isOpen: false)
        bench.take(.pushed(push(bench, to: .string("20"))))
        let own = bench.take(.pushed(push(bench, to: .string("10"))))
        #expect(own.reported == [ClientBench.uuid()] && own.ends.isEmpty)
        #expect(isReportedAndEnded(bench.take(.pushed(push(bench, to: .string("20"))))))
        #expect(bench.client.calls.map(\.isLive) == [true])
    }

    @Test("A push without a valid user id is for this user")
    func unnamed() {
        for user in [PushValue.null, .string(""), .string("no id"), .json("{}")] {
            var bench = ClientBench(isOpen: false)
            #expect(bench.take(.pushed(push(bench, to: user))).ends.isEmpty, "\(user)")
        }
    }
}
