import CallClient
import CallCore
import CallWire
import Testing

@Suite("A device whose server shuts down")
struct ComingBackTests {
    private func draining(_ milliseconds: Int64) -> CallClient.Input {
        let frame = ServerFrame.draining(reconnectAfterMs: milliseconds)
        return .received(Incoming(Array(frame.dropFirst(WireLimits.headroom))))
    }

    @Test("asks for a socket when it was told to come back, no earlier and once")
    func waits() {
        var bench = Bench.talking()
        bench.take(draining(1_700))
        #expect(bench.take(.socketClosed).isEmpty)
        #expect(bench.client.reconnectAt == bench.now + .milliseconds(1_700))
        #expect(!bench.pass(.milliseconds(1_699)).contains(.connect))
        #expect(bench.pass(.milliseconds(1)).filter { $0 == .connect } == [.connect])
        #expect(!bench.pass(.seconds(5)).contains(.connect))
        #expect(bench.client.reconnectAt == nil)
    }

    @Test("asks at once after any other end of a socket, also when an earlier server had told it to wait")
    func forgets() {
        var bench = Bench.talking()
        bench.take(draining(1_700))
        bench.take(.socketClosed)
        bench.pass(.milliseconds(1_700))
        bench.take(.socketOpened)
        #expect(bench.take(.socketClosed).contains(.connect))
    }

    @Test("goes on with its call, and tells the next server what this one did not acknowledge")
    func goesOn() throws {
        var bench = Bench.talking()
        let info = try #require(bench.take(.sendInfo(Bench.uuid(), "1")).compactMap(\.sent).first)
        bench.take(.received(.error(info.id, code: "draining")))
        bench.take(draining(900))
        bench.take(.socketClosed)
        bench.pass(.milliseconds(900))
        #expect(
            bench.take(.socketOpened).compactMap(\.sent).map(\.id) == [info.id]
                || bench.pass(.seconds(1)).sent == [.info]
        )
        #expect(bench.phase == .active)
    }

    @Test("without a call wants no socket, and still knows when to come back")
    func idle() {
        var bench = Bench()
        bench.take(draining(1_700))
        #expect(bench.take(.socketClosed).isEmpty && bench.client.deadline == nil)
        #expect(bench.client.reconnectAt == bench.now + .milliseconds(1_700))
        // Its user's call waits for no crowd to pass.
        #expect(bench.start().contains(.connect))
    }

    @Test("is kept away for a minute at most, and not by a frame that makes no sense")
    func limits() {
        var bench = Bench.talking()
        bench.take(draining(86_400_000))
        #expect(bench.client.reconnectAt == bench.now + ClientLimits.longestReturn)
        bench = Bench.talking()
        bench.take(draining(-1))
        #expect(bench.client.reconnectAt == nil)
        #expect(Incoming(Array(#"{"type":"draining"}"#.utf8)) == .other)
    }
}
