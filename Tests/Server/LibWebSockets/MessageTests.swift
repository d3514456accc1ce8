import LibWebSockets
import ServerTesting
import Testing

extension EveryTest {
    @Suite("Messages from clients")
    struct MessageTests {
        @Test(
            "A message arrives whole, whatever its length and however it was cut",
            arguments: [0, 1, 125, 126, 2_031, 2_048, 5_000, 65_535, 65_536]
        )
        func lengths(_ count: Int) throws {
            try TestServer.run({ _ in }, { $0.onMessage = { server, text, id in server.send(frame(text), to: id) } }) {
                test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                let text = String((0..<count).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
                peer.sendText(text)
                #expect(peer.readFrame()?.text == text)
                // First the beginning is sent byte by byte; then the message is sent again in three fragments.
                for byte in Peer.frame(1, Array(text.utf8)).prefix(200) { peer.send([byte]) }
                peer.send(Array(Peer.frame(1, Array(text.utf8)).dropFirst(200)))
                #expect(peer.readFrame()?.text == text)
                let bytes = Array(text.utf8)
                peer.send(Peer.frame(1, Array(bytes[..<(count / 3)]), isFinal: false))
                peer.send(Peer.frame(9, Array("ping".utf8)))
                peer.send(Peer.frame(0, Array(bytes[(count / 3)..<(count / 2)]), isFinal: false))
                peer.send(Peer.frame(0, Array(bytes[(count / 2)...])))
                var frames = [peer.readFrame(), peer.readFrame()]
                frames.sort { ($0?.opcode ?? 0) > ($1?.opcode ?? 0) }
                #expect(frames[0]?.opcode == 10 && frames[0]?.text == "ping")
                #expect(frames[1]?.text == text)
            }
        }

        @Test("A connection is closed with 1009 as soon as its message is known to be too long", arguments: [0, 1, 2])
        func limit(_ way: Int) throws {
            try TestServer.run({ $0.maxMessageBytes = 1_000 }) { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                switch way {
                case 0: peer.sendText(String(repeating: "x", count: 1_001))
                case 1: peer.send(Peer.frame(1, [120], announced: Int.max))
                default:
                    peer.send(Peer.frame(1, [UInt8](repeating: 120, count: 600), isFinal: false))
                    peer.send(Peer.frame(0, [UInt8](repeating: 120, count: 600), isFinal: false))
                }
                #expect(peer.readFrame()?.code == 1009)
                #expect(test.hears("closed 1009"))
                #expect(!test.events.contains { $0.hasPrefix("received") })
            }
        }

        @Test("A binary message closes its connection with 1003")
        func binary() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                peer.send(Peer.frame(2, [1, 2, 3]))
                #expect(peer.readFrame()?.code == 1003)
                #expect(test.hears("closed 1003"))
            }
        }

        @Test("Text that is not UTF-8 closes its connection with 1007, fragmented or not", arguments: [0, 1, 2, 3, 4])
        func utf8(_ way: Int) throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                switch way {
                case 0: peer.send(Peer.frame(1, [0xC0, 0x80]))
                case 1:
                    peer.send(Peer.frame(1, [104, 0xE2, 0x82], isFinal: false))
                    peer.send(Peer.frame(0, [104]))
                case 2:
                    peer.send(Peer.frame(1, [104, 0xE2], isFinal: false))
                    peer.send(Peer.frame(0, [0x82]))
                case 3:
                    // An empty last fragment cuts the character off; the library's own check lets this pass.
                    peer.send(Peer.frame(1, [104, 0xE2], isFinal: false))
                    peer.send(Peer.frame(0, []))
                default: peer.send(Peer.frame(1, [104, 0xED, 0xA0, 0x80]))
                }
                #expect(peer.readFrame()?.code == 1007)
                #expect(test.hears("closed 1007"))
                #expect(!test.events.contains { $0.hasPrefix("received") })
            }
        }

        @Test("A message whose fragments split its characters arrives whole")
        func cutCharacters() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                let bytes = Array("héllo €".utf8)
                peer.send(Peer.frame(1, Array(bytes[..<2]), isFinal: false))
                peer.send(Peer.frame(0, [], isFinal: false))
                peer.send(Peer.frame(0, Array(bytes[2..<8]), isFinal: false))
                peer.send(Peer.frame(0, Array(bytes[8...])))
                #expect(test.hears("received héllo €"))
            }
        }

        @Test("Several messages in one packet arrive in order")
        func packed() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                var bytes: [UInt8] = []
                for index in 0..<500 { bytes += Peer.frame(1, Array("\(index)".utf8)) }
                peer.send(bytes)
                #expect(test.hears("received 499"))
                #expect(test.events == ["opened"] + (0..<500).map { "received \($0)" })
            }
        }
    }
}
