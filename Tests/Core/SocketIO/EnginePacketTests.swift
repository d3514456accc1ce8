import CallWire
import JSON
import Testing

@testable import SocketIO

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

@Suite("An Engine.IO packet")
struct EnginePacketTests {
    @Test(
        "A packet is a digit and its data",
        arguments: zip(
            [#"0{"sid":"x"}"#, "1", "2probe", "3probe", #"42["a"]"#, "5", "6"],
            [EnginePacket.Kind.open, .close, .ping, .pong, .message, .upgrade, .noop]
        )
    )
    func form(_ text: String, _ kind: EnginePacket.Kind) throws {
        let packet = try EnginePacket(text: bytes(text))
        #expect(packet.kind == kind)
        #expect(packet.data == bytes(String(text.dropFirst())))
        #expect(packet.text == bytes(text))
    }

    @Test("A text that does not begin with a known digit is refused", arguments: ["", "7", "9", "a", " 4", "\u{0}"])
    func syntax(_ text: String) {
        #expect(throws: EngineFault.syntax) { try EnginePacket(text: bytes(text)) }
    }

    @Test("A binary packet is refused")
    func binary() {
        #expect(throws: EngineFault.binary) { try EnginePacket(text: bytes("bYWJj")) }
    }

    @Test("The parameter EIO selects the version, 3 by default; any other value than 3 or 4 is refused")
    func version() {
        #expect(EngineVersion(parameter: nil) == .v3)
        #expect(EngineVersion(parameter: "3") == .v3)
        #expect(EngineVersion(parameter: "4") == .v4)
        #expect(EngineVersion(parameter: "5") == nil)
        #expect(EngineVersion(parameter: "") == nil)
    }
}

@Suite("An Engine.IO payload")
struct EnginePayloadTests {
    @Test("A payload of version 4 has U+001E between its packets")
    func version4() throws {
        #expect(EnginePayload.encoded([bytes("40"), bytes("2")], .v4) == bytes("40\u{1E}2"))
        let packets = try EnginePayload.packets(in: bytes("2\u{1E}42[\"x\"]"), .v4)
        #expect(packets.map { text($0.text) } == ["2", #"42["x"]"#])
    }

    // These bodies were recorded from python-socketio 5.18.1 (Engine.IO 4) and 4.6.1 (Engine.IO 3).
    @Test("Payloads recorded from clients are read")
    func captured() throws {
        let four = bytes(
            #"42["message",{"to":10,"body":"h\u00e9\u00e9 \ud83d\ude00 \u5c71","displayName":"T"}]"# + "\u{1E}"
                + #"422["offer",{"to":10,"sdp":"v=0\r\n"}]"#
        )
        #expect(try EnginePayload.packets(in: four, .v4).map(\.kind) == [.message, .message])
        let three: [UInt8] =
            [0, 2, 9, 255] + bytes(#"421["register",{"userId":11}]"#) + [0, 1, 255] + bytes("2")
        #expect(
            try EnginePayload.packets(in: three, .v3).map { text($0.text) } == [#"421["register",{"userId":11}]"#, "2"]
        )
        let blob: [UInt8] =
            [0, 4, 2, 255] + bytes(#"451-["blob",{"_placeholder":true,"num":0}]"#) + [1, 4, 255, 4] + bytes("abc")
        #expect(throws: EngineFault.binary) { try EnginePayload.packets(in: blob, .v3) }
    }

    @Test("Version 3 writes lengths in UTF-16 units, and reads lengths in code points as well")
    func version3() throws {
        #expect(text(EnginePayload.encoded([bytes(#"42["é山"]"#), bytes("3")], .v3)) == #"8:42["é山"]1:3"#)
        let emoji = #"42["😀"]"#
        for length in [8, 7] {
            let packets = try EnginePayload.packets(in: bytes("\(length):\(emoji)1:2"), .v3)
            #expect(packets.map { text($0.text) } == [emoji, "2"])
        }
    }

    @Test("In version 3 a character of two UTF-16 units is written as two escapes")
    func surrogates() throws {
        let encoded = EnginePayload.encoded([bytes(#"42["😀é"]"#)], .v3)
        #expect(text(encoded) == #"19:42["\ud83d\ude00é"]"#)
        let packet = try #require(try EnginePayload.packets(in: encoded, .v3).first)
        let array = try JSONArray(packet.data, in: 1..<packet.data.count)
        #expect(array.string(array.elements[0]) == "😀é")
    }

    @Test(
        "A payload of version 3 with a wrong length or a malformed packet is refused",
        arguments: ["", "5:42", "4:42[]1", "x:42", ":42", "-1:4", "99999999999:4", "1:é", "0:", "2:42x"]
    )
    func faults(_ body: String) {
        #expect(throws: EngineFault.syntax) { try EnginePayload.packets(in: bytes(body), .v3) }
    }

    @Test("Random bytes are read or refused, and too many packets are refused", arguments: EngineVersion.allCases)
    func anything(_ version: EngineVersion) {
        for seed in 0..<2_000 {
            var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
            let body = (0..<(seed % 24)).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1
                return [0, 1, 255, 0x1E, 0x30, 0x32, 0x34, 0x3A, 0xF0, 0xC3, UInt8(truncatingIfNeeded: state >> 24)][
                    Int(state >> 33) % 11
                ]
            }
            do throws(EngineFault) {
                let packets = try EnginePayload.packets(in: body, version)
                #expect(packets.count <= SocketIOLimits.packetsPerPost)
            } catch {
                #expect(error == .syntax || error == .binary)
            }
        }
        let many = Array([[UInt8]](repeating: bytes("2"), count: 513).joined(separator: [0x1E]))
        #expect(throws: EngineFault.syntax) { try EnginePayload.packets(in: many, .v4) }
    }
}

@Suite("A Socket.IO packet")
struct SocketPacketTests {
    @Test("A packet has a kind, and optionally a namespace, a number and data")
    func form() throws {
        #expect(try SocketPacket(bytes("0")) == SocketPacket(.connect))
        #expect(try SocketPacket(bytes(#"0{"token":"x"}"#)) == SocketPacket(.connect, data: bytes(#"{"token":"x"}"#)))
        #expect(try SocketPacket(bytes("0/admin,")) == SocketPacket(.connect, namespace: "/admin"))
        #expect(try SocketPacket(bytes("0/admin?token=x,{}")).namespace == "/admin")
        #expect(try SocketPacket(bytes("0/")) == SocketPacket(.connect))
        #expect(try SocketPacket(bytes(#"212["a"]"#)) == SocketPacket(.event, number: 12, data: bytes(#"["a"]"#)))
        #expect(try SocketPacket(bytes(#"2/n,7["a"]"#)).number == 7)
        #expect(
            try SocketPacket(bytes(#"51-3["a",{}]"#))
                == SocketPacket(.binaryEvent, number: 3, data: bytes(#"["a",{}]"#))
        )
        #expect(text(SocketPacket(.ack, namespace: "/n", number: 3, data: bytes("[]")).text()) == "43/n,3[]")
        #expect(SocketPacket(.event, data: bytes("[]")).text(headroom: 3) == [0, 0, 0] + bytes("42[]"))
    }

    @Test("A malformed packet is refused", arguments: ["", "7", "x", "5[]", "21234567890123456[]"])
    func syntax(_ message: String) {
        #expect(throws: EngineFault.syntax) { try SocketPacket(bytes(message)) }
    }
}
