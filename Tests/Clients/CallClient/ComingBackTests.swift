import CallClient
import CallCore
import CallWire
import Testing

@Suite("A device whose server shuts down")
struct ComingBackTests {
    private func draining(_ milliseconds: Int64) -> CallClient.Input {
        let frame = ServerFrame.draining(reconnectAfterMs: milliseconds)
        return .received(ServerMessage(Array(frame.dropFirst(Frame.headroom))))
    }

    @Test("The device asks for a connection at the time that the server named, not earlier and only once")
    func waits() {
        var bench = ClientBench.talking()
        bench.take(draining(1_700))
        #expect(bench.take(.connectionClosed).isEmpty)
        #expect(bench.client.reconnectAt == bench.now + .milliseconds(1_700))
        #expect(!bench.handleDeadlines(for: .milliseconds(1_699)).contains(.connect))
        #expect(bench.handleDeadlines(for: .milliseconds(1)).filter { $0 == .connect } == [.connect])
        #expect(!bench.handleDeadlines(for: .seconds(5)).contains(.connect))
        #expect(bench.client.reconnectAt == nil)
    }

    @Test(
        "After any other end of a connection the device reconnects immediately, even if it waited after an earlier end"
    )
    func forgets() {
        var bench = ClientBench.talking()
        bench.take(draining(1_700))
        bench.take(.connectionClosed)
        bench.handleDeadlines(for: .milliseconds(1_700))
        bench.take(.connectionOpened)
        #expect(bench.take(.connectionClosed).contains(.connect))
    }

    @Test("The call continues, and the new server receives the signals that the old server did not acknowledge")
    func goesOn() throws {
        var bench = ClientBench.talking()
        let info = try #require(bench.take(.sendInfo(ClientBench.uuid(), "1")).compactMap(\.sent).first)
        bench.take(.received(.error(info.id, code: "draining")))
        bench.take(draining(900))
        bench.take(.connectionClosed)
        bench.handleDeadlines(for: .milliseconds(900))
        #expect(
            bench.take(.connectionOpened).compactMap(\.sent).map(\.id) == [info.id]
                || bench.handleDeadlines(for: .seconds(1)).sent == [.info]
        )
        #expect(bench.phase == .active)
    }

    @Test("A device without a call asks for no connection, and still knows when it may reconnect")
    func idle() {
        var bench = ClientBench()
        bench.take(draining(1_700))
        #expect(bench.take(.connectionClosed).isEmpty && bench.client.deadline == nil)
        #expect(bench.client.reconnectAt == bench.now + .milliseconds(1_700))
        // A call that the user makes does not wait: such calls are too few to overload the server.
        #expect(bench.start().contains(.connect))
    }

    @Test("The device waits a minute at most, no matter which delay the server states, and ignores an invalid delay")
    func limits() {
        var bench = ClientBench.talking()
        bench.take(draining(86_400_000))
        #expect(bench.client.reconnectAt == bench.now + ClientLimits.longestReconnectDelay)
        bench = ClientBench.talking()
        bench.take(draining(-1))
        #expect(bench.client.reconnectAt == nil)
        #expect(ServerMessage(Array(#"{"type":"draining"}"#.utf8)) == .other)
    }
}
