import CallCore
import CallWire

@testable import SocketIO

struct InvalidFixture: Error {}

/// One session with a clock, and a record of its outputs.
struct SocketSessionBench {
    private(set) var session: SocketSession
    private(set) var now = Moment(milliseconds: 1_700_000_000_000)
    /// The outputs since the last ``taken()``.
    private var outputs: [SocketSession.Output] = []
    private var lastRequest: UInt64 = 0

    static func identity(_ user: String = "11") throws -> SocketSession.Identity {
        guard let user = UserID(user) else { throw InvalidFixture() }
        return .init(user: user, isInteger: true)
    }

    init(
        _ version: EngineVersion = .v4,
        isSocket: Bool = true,
        _ credential: SocketSession.Credential = .none,
        trusts: Bool = false
    ) {
        session = SocketSession(
            names: ("SID", "PUBLIC", "tag"),
            version: version,
            isSocket: isSocket,
            credential: credential,
            trustsUnverifiedSocketIOUsers: trusts,
            at: now
        )
        give(.began)
        if isSocket { give(.socketOpened) }
    }

    /// Returns a session that has joined, by WebSocket or polling, with no queued packets and no waiting poll.
    static func joined(_ version: EngineVersion = .v4, isSocket: Bool = true) throws -> SocketSessionBench {
        var bench = SocketSessionBench(version, isSocket: isSocket, .valid(try identity()))
        if version == .v4 { bench.say("40") }
        bench.give(.turnEnded)
        if !isSocket { bench.poll() }
        _ = bench.taken()
        return bench
    }

    mutating func give(_ input: SocketSession.Input) { outputs += session.handle(input, at: now) }

    mutating func wait(_ milliseconds: Int64) { now = now + .milliseconds(milliseconds) }

    /// Sends a packet of the client, by the transport in use.
    mutating func say(_ packet: String) {
        if session.transport == .socket {
            give(.socketReceived(bytes(packet)))
        } else {
            post(session.version == .v4 ? packet : "\(packet.utf16.count):\(packet)")
        }
    }

    mutating func post(_ body: String) {
        lastRequest += 1
        give(.posted(lastRequest, bytes(body)))
    }

    @discardableResult
    mutating func poll() -> UInt64 {
        lastRequest += 1
        give(.polled(lastRequest))
        return lastRequest
    }

    /// Passes a frame of the switchboard to the session.
    mutating func hear(_ frame: String) {
        give(.frame([UInt8](repeating: 0, count: Frame.headroom) + bytes(frame)))
    }

    mutating func taken() -> [SocketSession.Output] {
        defer { outputs = [] }
        return outputs
    }
}

extension [SocketSession.Output] {
    /// The packets that the client is sent on its WebSocket.
    var sent: [String] {
        compactMap { if case .send(let frame) = $0 { text(frame.dropFirst(Frame.headroom)) } else { nil } }
    }
    /// The bodies of the responses to the client's polls.
    var answers: [String] { compactMap { if case .respond(_, let body) = $0 { text(body) } else { nil } } }
    /// The frames that are passed to the switchboard.
    var frames: [String] { compactMap { if case .received(let frame) = $0 { text(frame) } else { nil } } }
    var refusals: [EngineRefusal] { compactMap { if case .refuse(_, let refusal) = $0 { refusal } else { nil } } }
    var joins: [SocketSession.Identity] {
        compactMap { if case .join(let principal, _, _) = $0 { principal } else { nil } }
    }
    var isOver: Bool { contains(.over) }
}

/// Frames as the switchboard writes them.
enum Said {
    static func offer(_ callID: String = "10-11", epoch: Int = 1, seq: Int = 1, from: String = "10") -> String {
        #"{"type":"offer","callId":"\#(callID)","room":"p2p:\#(callID)","epoch":\#(epoch),"seq":\#(seq),"ts":1,"#
            + #""from":"\#(from)","fromDevice":"d","id":"x","hasVideo":false,"to":11,"sdp":"v=0"}"#
    }

    static func call(
        _ state: String,
        _ reason: String? = nil,
        _ callID: String = "10-11",
        epoch: Int = 1,
        seq: Int = 9,
        more: String = ""
    ) -> String {
        #"{"type":"call","callId":"\#(callID)","room":"p2p:\#(callID)","epoch":\#(epoch),"seq":\#(seq),"ts":1,"#
            + #""state":"\#(state)"\#(reason.map { #","reason":"\#($0)""# } ?? "")\#(more)}"#
    }
}
