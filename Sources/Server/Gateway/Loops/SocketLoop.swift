import CallCore
import CallPorts
import CallWire
import LibWebSockets
import ServerLog
import SocketIO
import Switchboard
import Threads

/// An event loop: its sockets with their TLS and framing, and the admission of its clients.
///
/// Calls and connections belong to the gateway. A loop turns the callbacks of its server into events for the gateway,
/// and carries out the gateway's commands. The loop on the gateway's thread works in the same way; only its sink
/// differs. There the gateway takes each event as it happens, and the loop carries out each command at once.
///
/// @unchecked: everything is confined to this loop's thread, except the members that are documented with "from any
/// thread".
final class SocketLoop: ServerDelegate, @unchecked Sendable {
    private enum Admitted {
        case connection(Admission)
        case socketIO(EngineHandshake)
        /// The upgrade to Engine.IO of a session that the owner, on another node, knows.
        case forwardedSocketIO(RequestHead)
    }

    /// The loop's server; its documentation says which of its members any thread may use.
    let server: Server
    let router: RequestRouter
    var log: ServerLog { router.log }
    private let sessions: SessionIndex
    private let sink: LoopEventSink
    /// Returns whether a device is silent; see ``GatewayConfiguration/isSilent``.
    private let isSilent: (@Sendable (DeviceID) -> Bool)?
    /// The devices of the open connections; empty if no device can be silent.
    private var devices: [SocketID: DeviceID] = [:]
    /// The connections that were admitted and are not open yet.
    private var admitted: [SocketID: Admitted] = [:]
    /// The requests under way for pages of the call directory, with the wishes of their clients.
    private var pageForms: [RequestID: PageForm] = [:]
    private let compressor: PageCompressor
    /// The buffer for the current message, reused where the gateway takes events as they happen.
    private var buffer: [UInt8] = []

    init(
        _ server: Server,
        router: RequestRouter,
        sessions: SessionIndex,
        sink: LoopEventSink,
        compressor: PageCompressor = PageCompressor(),
        isSilent: (@Sendable (DeviceID) -> Bool)?
    ) {
        self.server = server
        self.router = router
        self.sessions = sessions
        self.sink = sink
        self.compressor = compressor
        self.isSilent = isSilent
    }

    /// Serves on the calling thread, which becomes the loop's thread, until ``stop()``.
    func run() {
        server.delegate = self
        server.run()
    }

    /// Stops the loop, even while it waits for the gateway; from any thread.
    func stop() {
        if case .batches(let batches) = sink { batches.lift() }
        server.stop()
    }

    /// Serves a renewed certificate to all connections that are made from now on; from any thread.
    func serve(_ certificate: ServerCertificate) {
        server.post { [server] in server.serve(certificate) }
    }

    /// Carries out a command of the gateway.
    func carryOut(_ command: LoopCommand) {
        switch command {
        case .socket(let command): carryOut(command)
        case .closeAll(let code, let reason): server.closeAll(code: code, reason: reason)
        case .stopListening:
            server.stopListening()
            server.endIdleConnections()
        case .count: report(.counted(server.connectionCount, loop: server.loop))
        }
    }

    /// Carries out a command on a socket or a request of this loop.
    @inline(__always)
    func carryOut(_ command: SocketCommand) {
        switch command {
        case .send(let frame, let socket, _): sendFrame(frame, to: socket)
        case .ping(let socket, let number): server.ping(socket, payload: PingPayload.of(number))
        case .close(let socket, let code, let reason, let discardingQueue):
            server.close(socket, code: code, reason: reason, discardingQueue: discardingQueue)
        case .respond(let id, let response): respond(id, response)
        case .markAuthenticated(let id): server.markAuthenticated(for: id)
        // These concern the node, which has carried them out.
        case .bind, .assign, .revoke: break
        }
    }

    @inline(__always)
    func sendFrame(_ frame: Frame, to socket: SocketID) {
        guard server.send(frame, to: socket) == .overflow else { return }
        logTooSlow(socket)
        server.close(socket, code: 4408, reason: "too slow", discardingQueue: true)
        sendToOwner(.tooSlow(socket))
    }

    private func respond(_ id: RequestID, _ response: Response) {
        guard !pageForms.isEmpty, let form = pageForms.removeValue(forKey: id) else {
            server.respond(id, with: response)
            return
        }
        if form.isKnown(response) {
            server.respond(id, with: response.notModified)
        } else if !form.isCompressed(response)
            || !compressor.compress(
                response,
                { [server] response in
                    server.post { server.respond(id, with: response) }
                }
            )
        {
            server.respond(id, with: response)
        }
    }

    /// Passes an event to the gateway; `bytes` is the size of its payload.
    @inline(__always)
    private func sendToOwner(_ event: SocketEvent, bytes: Int = 0) {
        switch sink {
        // Both this function and `eventReceived` are inlined, so this path builds no event.
        case .gateway(let gateway): gateway._withUnsafeGuaranteedRef { $0.eventReceived(event) }
        case .batches(let batches): batches.append(.socket(event), bytes: bytes)
        }
    }

    /// Passes what this loop has checked or counted to the gateway; `bytes` is the size of its payload.
    @inline(__always)
    private func report(_ event: LoopEvent, bytes: Int = 0) {
        switch sink {
        case .gateway(let gateway): gateway._withUnsafeGuaranteedRef { $0.loopReported(event) }
        case .batches(let batches): batches.append(event, bytes: bytes)
        }
    }

    // MARK: ServerDelegate

    func admit(_ upgrade: RequestHead, as socket: SocketID) -> UpgradeDecision {
        guard upgrade.listener != Gateway.adminListener else { return .refuse(Gateway.noSuchAdminPath) }
        switch router.checkUpgrade(upgrade, as: socket) {
        case .decided(let decision): return decision
        case .connection(let admission, let subprotocol):
            admitted[socket] = .connection(admission)
            return .accept(subprotocol: subprotocol)
        case .socketIO where router.forwarding.isOn:
            admitted[socket] = .forwardedSocketIO(upgrade)
            return .accept(subprotocol: nil)
        case .socketIO(let handshake):
            if let refusal = sessions.refusal(of: handshake, by: router, for: nil) { return .refuse(refusal) }
            admitted[socket] = .socketIO(handshake)
            return .accept(subprotocol: nil)
        }
    }

    func opened(_ socket: SocketID) {
        switch admitted.removeValue(forKey: socket) {
        case .connection(let admission)?:
            if isSilent != nil { devices[socket] = admission.device }
            sendToOwner(.opened(socket, admission.principal, device: admission.device))
        case .socketIO(let handshake)?: report(.checkedSocketIO(socket, handshake))
        case .forwardedSocketIO(let head)?: sendToOwner(.openedSocketIO(socket, head))
        case nil: break
        }
    }

    /// Returns whether a socket's device is silent.
    @inline(__always)
    private func isSilent(_ socket: SocketID) -> Bool {
        guard let isSilent, let device = devices[socket] else { return false }
        return isSilent(device)
    }

    func messageReceived(_ message: RawSpan, on socket: SocketID) {
        if isSilent(socket) { return }
        switch sink {
        case .gateway(let gateway):
            // The gateway keeps the array after this call only if the message has to wait in ``TurnQueue/inputs``.
            var bytes: [UInt8] = []
            swap(&bytes, &buffer)
            message.withUnsafeBytes { bytes.append(contentsOf: $0) }
            gateway._withUnsafeGuaranteedRef { $0.eventReceived(.received(socket, bytes)) }
            bytes.removeAll(keepingCapacity: bytes.capacity <= LoopLimits.keptBuffer)
            swap(&bytes, &buffer)
        case .batches(let batches):
            let bytes = message.withUnsafeBytes { Array($0) }
            batches.append(.socket(.received(socket, bytes)), bytes: bytes.count)
        }
    }

    func receivedPong(_ payload: RawSpan, on socket: SocketID) {
        if isSilent(socket) { return }
        if let number = PingPayload.number(in: payload) {
            sendToOwner(.ponged(socket, number))
        } else {
            sendToOwner(.signOfLife(socket))
        }
    }

    func receivedPing(on socket: SocketID) {
        if !isSilent(socket) { sendToOwner(.signOfLife(socket)) }
    }

    func closed(_ socket: SocketID, code: UInt16?) {
        admitted[socket] = nil
        if isSilent != nil { devices[socket] = nil }
        sendToOwner(.closed(socket, code: code))
    }

    func requested(_ head: RequestHead, body: [UInt8], as id: RequestID) {
        guard !head.isForThisNode else { return sendToOwner(.requested(id, head, body: body)) }
        let routing = router.checkRequest(head, body: body, as: id, now: Moment(milliseconds: router.clock.now()))
        if case .request = routing, let form = PageForm(head) { pageForms[id] = form }
        switch routing {
        case .response(let response): server.respond(id, with: response)
        case .request where router.forwarding.isOn:
            sendToOwner(.requested(id, head, body: body), bytes: body.count)
        case .request(let request): report(.checked(id, request), bytes: body.count)
        }
    }

    func largeBody(of head: RequestHead) -> LargeBodyDecision? { router.largeBody(of: head) }

    func abandoned(_ id: RequestID) {
        if !pageForms.isEmpty { pageForms[id] = nil }
        sendToOwner(.abandoned(id))
    }

    func timerFired() {
        // Only the gateway sets a timer, and only on the loop of the gateway's thread.
        if case .gateway(let gateway) = sink { gateway._withUnsafeGuaranteedRef { $0.timerDue() } }
    }

    func loopTurned() {
        switch sink {
        case .gateway(let gateway): gateway._withUnsafeGuaranteedRef { $0.turn() }
        case .batches(let batches): batches.send()
        }
    }
}
