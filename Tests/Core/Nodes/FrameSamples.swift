import CallCore
import CallPorts
import CallWire
import Testing

@testable import Nodes

/// One frame of each kind, and of each form of its optional fields.
enum FrameSamples {
    static let all: [NodeFrame] = ofVersion2 + [nurses] + hellos

    /// The frames that nodes of version 2 of the protocol send and read, too.
    static let ofVersion2: [NodeFrame] =
        other + events.enumerated().map { .event(UInt64($0.offset) + 1, $0.element) }
        + commands.map { .command($0) }

    /// The bytes of a frame as they are sent.
    static func bytes(_ frame: NodeFrame, version: UInt16 = Hello.currentVersion) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try #require(frame.encode(into: &bytes, version: version))
        return bytes
    }

    /// The bytes of a frame without its length; `nil` if it does not fit.
    static func payload(_ frame: NodeFrame) -> [UInt8]? {
        var bytes: [UInt8] = []
        return frame.encode(into: &bytes) ? Array(bytes.dropFirst(4)) : nil
    }

    static let principals: [Principal] = {
        guard let user = UserID("11"), let device = DeviceID("phone-1"), let call = CallID("c1"),
            let peer = UserID("10")
        else { return [] }
        let scope = CallScope(call: call, epoch: 3, peer: peer, device: device)
        return [
            Principal(user: user, fingerprint: TokenFingerprint(rawValue: 0xDEAD_BEEF_0000_0001)),
            Principal(
                user: user,
                fingerprint: TokenFingerprint(rawValue: 1),
                name: "Zoë \u{0}",
                device: device,
                rooms: ["b", "a", "group:ü"],
                isService: true,
                expiresAt: Moment(milliseconds: 1_800_000_000_000),
                issuedAt: Moment(milliseconds: -1),
                userIsInteger: true
            ),
            Principal(user: user, scope: scope),
        ]
    }()

    /// A connection with a token whose claims the app's backend is told.
    static let nurses: NodeFrame = {
        var nurse = principals[0]
        nurse.claims = Array(#""role":"nurse","ward":{"floor":7}"#.utf8)
        return .event(90, .opened(socket, nurse, device: nil))
    }()

    /// The hello of this build.
    private static let hellos: [NodeFrame] = {
        guard let node = NodeID("node-2") else { return [] }
        return [.hello(Hello(node: node, epoch: OwnerEpoch(rawValue: 8), isOwner: false, challenge: challenge))]
    }()

    private static let socket = SocketID(rawValue: 0x0000_0007_0100_0002)
    private static let exchange = RequestID(rawValue: .max)
    private static let challenge = (0..<NodeLimits.challengeBytes).map { UInt8($0) }

    private static let head = RequestHead(
        method: "POST",
        path: "/api/calls/c1/signals",
        query: [.init("wait", "25"), .init("flag", "")],
        authorization: "Bearer x.y.z",
        origin: "https://example.org",
        host: "example.org",
        contentType: "application/json",
        protocols: ["ringline.v1", "bearer.x"],
        isTLS: true,
        clientNetwork: ClientNetwork(high: 0x2001_0DB8_0000_0001, low: .max)
    )

    private static let other: [NodeFrame] = {
        guard let node = NodeID("node-1.a:b_C") else { return [] }
        let hello = Hello(
            version: 2,
            oldestVersion: 2,
            node: node,
            epoch: OwnerEpoch(rawValue: 7),
            isOwner: true,
            challenge: challenge
        )
        let adopted = principals.map {
            AdoptedSocket(
                socket,
                $0,
                device: $0.device,
                assigned: $0.device == nil ? DeviceID("c-0123456789abcdef") : nil,
                openFor: .seconds(90),
                seen: [LogMark(CallNumber(rawValue: 1), seq: 7), LogMark(CallNumber(rawValue: 9), seq: .max)]
            )
        }
        return [
            .hello(hello), .proof(challenge.reversed()), .refused(.version), .refused(.notOwner), .refused(.full),
            .ping(0), .pong(.max),
            .storeStalled(true), .storeStalled(false), .confirmed(upTo: 71), .adoptionComplete, .released(heir: nil),
            .released(heir: node), .deposed(by: OwnerEpoch(rawValue: 8)),
            .revocation(principals[0].user, upTo: Moment(milliseconds: -5)),
        ] + adopted.map { .adopt($0) }
    }()

    private static let events: [SocketEvent] =
        principals.map { .opened(socket, $0, device: $0.device) } + [
            .openedSocketIO(socket, head), .openedSocketIO(socket, RequestHead(path: "/")),
            .received(socket, Array(#"{"type":"ice"}"#.utf8)), .received(socket, []), .ponged(socket, 5),
            .signOfLife(socket), .tooSlow(socket), .closed(socket, code: nil), .closed(socket, code: 1001),
            .requested(exchange, head, body: [1, 2, 3]), .abandoned(exchange),
        ]

    private static let commands: [SocketCommand] =
        [
            .send(Frame("{}".utf8), socket, marks: []),
            .send(Frame([0, 255]), socket, marks: [LogMark(CallNumber(rawValue: 3), seq: 1)]),
            .ping(socket, 9), .close(socket, code: 4408, reason: "too slow", discardingQueue: true),
            .close(socket, code: 1000, reason: "", discardingQueue: false), .bind(socket, true), .bind(socket, false),
            .respond(exchange, Response(status: 204)),
            .respond(
                exchange,
                Response(status: 503, contentType: "text/plain", headers: [.init("Retry-After", "1")], body: [65])
            ),
            .respond(
                exchange,
                Response(status: 404, problem: Response.Problem(code: "not_found", message: "no such call"))
            ),
            .markAuthenticated(exchange),
        ] + principals.compactMap { $0.device.map { .assign(socket, $0) } }
        + principals.map { .revoke($0.user, upTo: Moment(milliseconds: 12)) }
}
