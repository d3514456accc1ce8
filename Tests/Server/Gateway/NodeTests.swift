import CallCore
import CallPorts
import Crypto
import Glibc
import LibWebSockets
import Nodes
import ServerLog
import ServerTesting
import Testing
import Threads

@testable import Gateway

extension EveryTest {
    @Suite("One node of several, over a register whose reports the test makes")
    struct NodeTests {
        @Test("A node that is to end while it claims keeps no socket that opens, and releases its claim off the loop")
        func endsWhileClaiming() throws {
            let node = try RunningNode()
            node.claim(after: 0)
            node.gateway.drain()
            let socket = SocketID(rawValue: 1)
            let user = Principal(user: try #require(UserID("11")), fingerprint: TokenFingerprint(rawValue: 1))
            // The attachment would keep it until the next owner, and there is none.
            let known = node.onLoop { gateway in
                gateway.eventReceived(.opened(socket, user, device: nil))
                return gateway.node?.machine.attachment.socketCount
            }
            #expect(known == 0)
            let mayClose = Monitor(false)
            let store = RecordingStore(onClose: { mayClose.wait { $0 ? () : nil } })
            node.report(.claimed(ClaimedStore(epoch: Self.epoch(1), store: store, state: StoredState(), others: [])))
            #expect(wait { store.calls == ["close"] })
            #expect(node.onLoop { $0.node?.machine.hasEnded } == false, "the loop runs while the store is closed")
            mayClose.withLock { $0 = true }
            node.waitForEnd()
            #expect(node.register.calls.suffix(2) == ["give back", "close"])
        }

        @Test("If two nodes ask for the last link at the same time, the second one is refused in words")
        func lastLink() throws {
            let node = try RunningNode()
            node.claim(after: 0)
            let store = RecordingStore()
            node.report(.claimed(ClaimedStore(epoch: Self.epoch(1), store: store, state: StoredState(), others: [])))
            #expect(wait { node.onLoop { $0.node?.isServing } == true })
            // All have been let in before the first one has proved itself.
            let edges = try (0...7).map { try Edge("edge-\($0)", port: node.port) }
            for edge in edges {
                edge.sendHello()
                #expect(edge.next().isHello)
                #expect(edge.next().isProof)
            }
            for edge in edges.prefix(7) { edge.sendProof() }
            #expect(wait { node.onLoop { $0.node?.machine.linkCount } == 7 })
            edges[7].sendProof()
            #expect(edges[7].next() == .refused(.full))
            #expect(node.onLoop { $0.node?.machine.linkCount } == 7)
            node.gateway.drain()
            node.waitForEnd()
        }

        private static func epoch(_ number: UInt64) -> OwnerEpoch { OwnerEpoch(rawValue: number) }
    }
}

/// A gateway that runs as a node on a thread of its own.
private final class RunningNode {
    let gateway: Gateway
    let register = RecordingRegister()
    /// The port for links.
    let port: Int
    private let isOver = Monitor(false)

    init() throws {
        var configuration = GatewayConfiguration()
        configuration.server.host = "127.0.0.1"
        configuration.server.port = 0
        gateway = Gateway(configuration: configuration, authenticator: NobodysAuthenticator(), log: .silent)
        port = try unusedPort()
        try gateway.open(
            as: NodeConfiguration(id: try #require(NodeID("n")), listen: ("127.0.0.1", port)),
            register: register,
            senders: Senders(push: SilentPushSender()),
            ports: { _ in .none }
        )
        let (gateway, isOver) = (gateway, isOver)
        _ = try WorkThread(named: "node") {
            gateway.run()
            isOver.withLock { $0 = true }
        }
    }

    /// Lets the node find a row without an owner, and waits until it claims.
    func claim(after epoch: UInt64) {
        #expect(register.hears("read"))
        let row = OwnerRow(
            epoch: OwnerEpoch(rawValue: epoch),
            node: nil,
            address: "",
            lease: .milliseconds(0)
        )
        report(.row(row))
        #expect(register.hears("claim after \(epoch)"))
    }

    func report(_ report: OwnershipReport) { gateway.handleOwnershipReport(report) }

    /// Runs `body` on the loop and returns its result; nil if the loop does not respond within five seconds.
    func onLoop<Result: Sendable>(_ body: @escaping @Sendable (Gateway) -> Result?) -> Result? {
        let result = Monitor<Result??>(nil)
        gateway.post { gateway in
            let value = body(gateway)
            result.withLock { $0 = .some(value) }
        }
        return result.wait(until: .now + .seconds(5)) { $0 } ?? nil
    }

    func waitForEnd() {
        #expect(isOver.wait(until: .now + .seconds(10)) { $0 ? true : nil } == true)
    }
}

/// The edge's side of a link, frame by frame.
private final class Edge {
    private let peer: Peer
    private let own: Hello
    private var other: Hello?
    private var stream = FrameStream()

    init(_ name: String, port: Int) throws {
        peer = Peer(port: port)
        let challenge = [UInt8](repeating: 1, count: NodeLimits.challengeBytes)
        own = Hello(node: try #require(NodeID(name)), epoch: .none, isOwner: false, challenge: challenge)
    }

    func sendHello() { send(.hello(own)) }

    /// Proves that the edge has the key, which is derived from the secret of ``RecordingRegister``.
    func sendProof() {
        guard let other else { return }
        let key = HMACSHA256.code(of: Array("ringline links".utf8), key: [UInt8](repeating: 7, count: 32))
        send(.proof(HMACSHA256.code(of: Hello.provenBytes(of: .client, client: own, server: other), key: key)))
        stream.isProven = true
    }

    /// Returns the next frame; a ping with the number 0 if the link has ended.
    func next() -> NodeFrame {
        while true {
            // A frame that cannot be read counts as the end.
            if let frame = try? stream.next() {
                if case .hello(let hello) = frame { other = hello }
                return frame
            }
            guard let bytes = peer.readSome() else { return .ping(0) }
            stream.append(bytes)
        }
    }

    private func send(_ frame: NodeFrame) {
        var bytes: [UInt8] = []
        #expect(frame.encode(into: &bytes))
        peer.send(bytes)
    }
}

extension NodeFrame {
    fileprivate var isHello: Bool { if case .hello = self { true } else { false } }
    fileprivate var isProof: Bool { if case .proof = self { true } else { false } }
}
