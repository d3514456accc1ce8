import CallCore
import CallWire
import SocketIO

/// Engine.IO payloads, Socket.IO packets, and a session that receives them.
struct EngineTarget: FuzzTarget {
    func take(_ bytes: [UInt8]) {
        for version in EngineVersion.allCases {
            // Characters that need four bytes in UTF-8 are escaped when they are written, so they are not compared.
            if let packets = try? EnginePayload.packets(in: bytes, version), !bytes.contains(where: { $0 >= 0xF0 }) {
                let written = EnginePayload.encoded(packets.map(\.text), version)
                let again = try? EnginePayload.packets(in: written, version)
                expect(again == packets, "a payload of version \(version.rawValue) is read as it was written")
            }
        }
        // The server writes only packets with a JSON array, a JSON object or no data, and without attachments.
        let json: [UInt8?] = [UInt8(ascii: "["), UInt8(ascii: "{"), nil]
        if let packet = try? SocketPacket(bytes), packet.kind != .binaryEvent, packet.kind != .binaryAck,
            json.contains(packet.data.first)
        {
            // The first byte is the Engine.IO type of a message.
            let again = try? SocketPacket(Array(packet.text().dropFirst()))
            expect(again == packet, "a packet is read as it was written")
        }
        converse(bytes)
    }

    /// Hands each line to a session, as the body of a POST or as a message on its WebSocket.
    private func converse(_ bytes: [UInt8]) {
        guard let first = bytes.first, let user = UserID("10") else { return }
        let version = EngineVersion.allCases[Int(first & 1)]
        let isSocket = first & 2 != 0
        var now = Moment(milliseconds: 1_700_000_000_000)
        var session = SocketSession(
            names: ("s", "p", "t"),
            version: version,
            isSocket: isSocket,
            credential: .none,
            trustsUnverifiedSocketIOUsers: first & 4 != 0,
            at: now
        )
        var number: UInt64 = 0
        func give(_ input: SocketSession.Input) {
            for output in session.handle(input, at: now) {
                if case .verify = output {
                    give(.verified(.success(SocketSession.Identity(user: user, isInteger: true))))
                }
            }
        }
        give(.began)
        if isSocket { give(.socketOpened) }
        for line in bytes.dropFirst().split(separator: UInt8(ascii: "\n")) {
            now = now + .milliseconds(100)
            number += 1
            give(isSocket ? .socketReceived(Array(line)) : .posted(number, Array(line)))
            number += 1
            if !isSocket { give(.polled(number)) }
            give(.turnEnded)
        }
        while let deadline = session.deadline, session.phase != .over, number < 200 {
            number += 1
            now = max(now, deadline)
            give(.deadlineReached)
        }
    }
}
