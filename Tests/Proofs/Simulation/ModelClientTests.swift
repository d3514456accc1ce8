import CallCore
import CallWire
import Testing

@testable import Simulation

@Suite("The model of a client")
struct ModelClientTests {
    private func frame(_ text: String) -> CoreInput {
        .frame(ParsedFrame([UInt8](repeating: 0, count: Frame.headroom) + Array(text.utf8)))
    }

    /// Returns a caller whose call was answered by `b1`.
    private func caller() throws -> ModelClient {
        let caller = try #require(UserID("11"))
        let id = try #require(CallID("c-1"))
        let client = ModelClient(user: caller, device: try #require(DeviceID("a1")), instance: 1)
        _ = give(client, .connected)
        _ = give(client, .intent(.call(id, peer: try #require(UserID("10")), ringSeconds: nil, sdp: 1)))
        _ = give(client, frame(#"{"type":"ack","id":"1.1","callId":"c-1","epoch":1,"seq":1}"#))
        _ = give(client, frame(state("answered", seq: 3)))
        return client
    }

    private func state(_ state: String, seq: Int, more: String = "") -> String {
        #"{"type":"call","callId":"c-1","room":"p2p:11-10","epoch":1,"seq":\#(seq),"state":"\#(state)","#
            + #""answeredBy":{"device":"b1"}\#(more)}"#
    }

    private func give(_ client: ModelClient, _ input: CoreInput) -> [SignalKind] {
        var outputs: [CoreOutput] = []
        client.handle(input, at: Moment(milliseconds: 1_000), into: &outputs)
        return outputs.compactMap { if case .transmit(let one) = $0 { one.kind } else { nil } }
    }

    @Test("If a crash lost a call's end, the client sends the end again, even if the replay has only a known `seq`")
    func lostEnd() throws {
        let client = try caller()
        #expect(client.calls.first?.phase == .talking)
        #expect(give(client, frame(state("ended", seq: 8, more: #","reason":"replaced""#))) == [])
        #expect(client.calls.first?.phase == .ended)
        // The server crashed before the end was durable: the call is live again, and its log is replayed.
        #expect(give(client, frame(state("answered", seq: 3))) == [.end])
        // The end is not sent again while it waits for its ack.
        #expect(give(client, frame(state("active", seq: 4))) == [])
    }
}
