import Testing

@testable import SocketIO

@Suite("An Engine.IO packet")
struct EnginePacketTests {
    @Test("is a digit and its data")
    func form() throws {
        let packet = try EnginePacket(text: Array("4abc".utf8))
        #expect(packet == EnginePacket(.message, Array("abc".utf8)))
        #expect(packet.text == Array("4abc".utf8))
    }
}
