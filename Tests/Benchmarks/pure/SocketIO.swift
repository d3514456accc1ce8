import CallCore
import CallWire
import SocketIO

/// Operations on Socket.IO: the codec alone, and a session.
let socketIOOperations: [Operation] = [
    Operation(name: "socketio-decode", times: 200) {
        let texts = (1...200).map { event($0) }
        return {
            var done = 0
            for text in texts {
                // A refused packet is missing in the count.
                guard let engine = try? EnginePacket(text: text), let packet = try? SocketPacket(engine.data) else {
                    continue
                }
                if packet.kind == .event { done += 1 }
            }
            return done
        }
    },
    Operation(name: "socketio-encode", times: 200) {
        let packets = (1...200).map { SocketPacket(.event, data: Array(event($0).dropFirst(2))) }
        return {
            var done = 0
            for packet in packets where packet.text(headroom: Frame.headroom).count > packet.data.count {
                done += 1
            }
            return done
        }
    },
    // The app's event becomes a frame for the switchboard, and the switchboard's ack comes back.
    Operation(name: "socketio-event-in", times: 200) {
        let session = try JoinedSession()
        let call = try Inputs.call(1)
        let texts = (1...200).map { event($0) }
        let acks = try (1...200).map { number in
            let id = try Inputs.signal("stag-\(number)")
            return ServerFrame.ack(id: id, callID: call, epoch: 1, seq: UInt64(number) + 5, outcome: nil)
        }
        return {
            var done = 0
            for (text, ack) in zip(texts, acks) {
                for case .received in session.take(.socketReceived(text)) { done += 1 }
                _ = session.take(.frame(ack))
            }
            return done
        }
    },
    // A relayed candidate becomes an event for the app.
    Operation(name: "socketio-event-out", times: 200) {
        let session = try JoinedSession()
        let frames = try (1...200).map { number in
            let signal = try relayed(candidate: number)
            return signal.frame
        }
        return {
            var done = 0
            for frame in frames {
                for case .send in session.take(.frame(frame)) { done += 1 }
            }
            return done
        }
    },
]

/// Returns the event of a candidate as an app sends it.
private func event(_ number: Int) -> [UInt8] {
    Inputs.bytes(
        #"42["ice",{"to":"\#(Inputs.userName(.caller, 1))","callId":"\#(Inputs.callName(1))","#
            + #""candidate":\#(Inputs.candidate(number, .callee))}]"#
    )
}

/// The callee's Socket.IO session over a WebSocket, after it has joined.
private final class JoinedSession {
    private var session: SocketSession

    init() throws {
        session = SocketSession(
            names: (sid: "sid", socketID: "socket", tag: "stag"),
            version: .v4,
            isSocket: true,
            credential: .valid(.init(user: try Inputs.user(.callee, 1), isInteger: false)),
            trustsUnverifiedSocketIOUsers: false,
            at: Inputs.start
        )
        _ = take(.began)
        _ = take(.socketOpened)
        let outputs = take(.socketReceived(Inputs.bytes("40")))
        guard outputs.contains(where: { if case .join = $0 { true } else { false } }) else { throw Broken("CONNECT") }
    }

    func take(_ input: SocketSession.Input) -> [SocketSession.Output] { session.handle(input, at: Inputs.start) }
}
