import CallCore
import CallPorts
import Crypto
import LibWebSockets
import Nodes

/// Receives the frames of a link.
protocol LinkDelegate: AnyObject {
    var now: Moment { get }
    /// Returns this node's hello, with a challenge.
    func hello(challenge: [UInt8]) -> Hello
    /// Returns why this node does not serve the connecting node `peer`; `nil` = the peer may prove itself.
    func refusal(of peer: Hello) -> NodeFrame.LinkRefusal?
    /// Both sides have proved that they know the key; called once, before any frame.
    func opened(_ link: Link, by peer: Hello)
    func frameReceived(_ frame: NodeFrame, on link: Link)
    /// The link has ended; called once, but not after ``Link/close()`` or ``Link/closeAfterWriting()``.
    func ended(_ link: Link, _ end: LinkEnd)
}

/// One end of a link between two nodes: its bytes, its handshake and its pings.
///
/// Both sides prove, with HMAC-SHA256 over both hellos, that they know the key from the database. Frames are collected
/// during a turn and written together at its end, by ``flush()``.
///
/// It is confined to the loop's thread.
final class Link: TCPStreamDelegate {
    /// The link's number, by which the node's machine knows it.
    let id: LinkID
    let stream: TCPStream
    private let side: Hello.Side
    private let key: [UInt8]
    private weak var delegate: (any LinkDelegate)?
    private var reader = FrameStream()
    private var own: Hello?
    /// The other side's hello.
    private(set) var peer: Hello?
    /// The version of the protocol that both sides speak; a handshake has the same form in all versions.
    private var version = Hello.currentVersion
    /// Whether the other side has proved that it knows the key.
    private(set) var isOpen = false
    private var hasEnded = false
    /// When the link was begun.
    let beganAt: Moment
    private var watch: LinkWatch
    private var unsent: [UInt8] = []

    /// Begins a link on a stream; the client, which has connected, sends its hello at once.
    init(
        _ id: LinkID,
        _ stream: TCPStream,
        as side: Hello.Side,
        key: [UInt8],
        delegate: any LinkDelegate,
        at now: Moment
    ) {
        self.id = id
        self.stream = stream
        self.side = side
        self.key = key
        self.delegate = delegate
        beganAt = now
        watch = LinkWatch(at: now)
        stream.delegate = self
        if side == .client { sendHello() }
    }

    /// The bytes that wait for the other side to read.
    var bytesWaiting: Int { unsent.count + stream.queuedBytes }

    /// The next deadline of ``check(at:)``.
    var deadline: Moment { isOpen ? watch.deadline : min(watch.deadline, proofEnd) }

    /// When the other side must have proved itself.
    private var proofEnd: Moment { beganAt + NodeLimits.connecting }

    /// Adds a frame to those of this turn.
    /// - Returns: `false` if the frame is larger than a frame may be, and so was left out.
    @discardableResult
    func send(_ frame: NodeFrame) -> Bool { !hasEnded && frame.encode(into: &unsent, version: version) }

    /// Writes the frames of this turn.
    func flush() {
        guard !unsent.isEmpty, !hasEnded else { return }
        stream.write(unsent)
        unsent.removeAll(keepingCapacity: unsent.capacity <= 1 << 16)
    }

    /// Sends a ping if one is due, and ends a link that has been silent for too long.
    func check(at now: Moment) {
        guard !hasEnded else { return }
        guard isOpen || now < proofEnd else { return end(.silent) }
        switch watch.check(at: now) {
        case .ping(let number)?: if isOpen { send(.ping(number)) }
        case .dead?: end(.silent)
        case nil: break
        }
    }

    /// Ends the link at once; the delegate is not told.
    func close() {
        hasEnded = true
        stream.close()
    }

    /// Sends what waits, and then ends the link; the delegate is not told.
    func closeAfterWriting() {
        flush()
        hasEnded = true
        stream.closeAfterWriting()
    }

    private func end(_ end: LinkEnd) {
        guard !hasEnded else { return }
        close()
        delegate?.ended(self, end)
    }

    // MARK: TCPStreamDelegate

    func bytesReceived(_ bytes: RawSpan, on stream: TCPStream) {
        guard !hasEnded else { return }
        // A side that has not proved itself is cut off after the same time, whatever it sends.
        if isOpen, let delegate { watch.heard(at: delegate.now) }
        bytes.withUnsafeBytes { reader.append($0) }
        do throws(NodeFrameError) {
            while !hasEnded, let frame = try reader.next() { frameRead(frame) }
        } catch { end(.fault(error.message)) }
        flush()
    }

    func closed(_ stream: TCPStream, reason: TCPStream.CloseReason) { end(.closed) }

    private func frameRead(_ frame: NodeFrame) {
        guard isOpen else {
            takeHandshake(frame)
            return
        }
        switch frame {
        case .ping(let number): send(.pong(number))
        case .pong: break
        case .refused(let refusal) where side == .client: end(.refused(refusal))
        case .hello, .proof, .refused: end(.fault("a frame of the handshake came after it"))
        default: delegate?.frameReceived(frame, on: self)
        }
    }

    // MARK: The handshake

    private func sendHello() {
        own = delegate?.hello(challenge: SecureRandom.bytes(NodeLimits.challengeBytes))
        if let own { send(.hello(own)) }
        flush()
    }

    /// Takes a frame of the handshake.
    ///
    /// The client sends its hello, the server its hello and its proof, and then the client its proof. So a stranger
    /// who connects learns only what the hello says (the node's id and ownership), and cannot make a client accept it.
    private func takeHandshake(_ frame: NodeFrame) {
        switch frame {
        case .hello(let hello) where peer == nil:
            peer = hello
            if side == .server { sendHello() }
            guard let agreed = own?.agreedVersion(with: hello) else { return refuse(.version) }
            version = agreed
            reader.version = agreed
            guard side == .server else { return }
            if let refusal = delegate?.refusal(of: hello) { return refuse(refusal) }
            send(.proof(proof(of: side)))
        case .proof(let proof) where peer != nil && own != nil:
            let other: Hello.Side = side == .client ? .server : .client
            guard HMACSHA256.isValid(proof, for: provenBytes(of: other).span, key: key) else { return refuse(.proof) }
            if side == .client { send(.proof(self.proof(of: side))) }
            isOpen = true
            reader.isProven = true
            if let peer { delegate?.opened(self, by: peer) }
        case .refused(let refusal): end(.refused(refusal))
        default: end(.fault("the handshake is out of order"))
        }
    }

    /// Ends the link, and tells the other side why.
    func refuse(_ refusal: NodeFrame.LinkRefusal) {
        send(.refused(refusal))
        flush()
        hasEnded = true
        stream.closeAfterWriting()
        delegate?.ended(self, .refused(refusal))
    }

    private func proof(of side: Hello.Side) -> [UInt8] { HMACSHA256.code(of: provenBytes(of: side), key: key) }

    private func provenBytes(of prover: Hello.Side) -> [UInt8] {
        guard let own, let peer else { return [] }
        return Hello.provenBytes(
            of: prover,
            client: side == .client ? own : peer,
            server: side == .server ? own : peer
        )
    }
}
