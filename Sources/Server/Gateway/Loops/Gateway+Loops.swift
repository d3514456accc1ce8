import CallCore
import CallPorts
import CallWire
package import LibWebSockets
import Nodes
import ServerLog
import SocketIO
import Switchboard
import Threads

/// The loops: the one on this thread, and with `--loops` those on other threads.
extension Gateway {
    /// Creates the loops on other threads, according to the configuration.
    func makeWorkers(beside first: Server) throws(ServerError) {
        for number in 1..<max(1, configuration.server.loops) {
            let batches = LoopEventBatches { [weak self] events, taken in
                self?.post { gateway in
                    for event in events { gateway.loopReported(event) }
                    taken()
                }
            }
            let server = try Server(beside: first, loop: number)
            let loop = SocketLoop(
                server,
                router: router,
                sessions: socketIO.index,
                sink: .batches(batches),
                compressor: loops.compressor,
                isSilent: configuration.isSilent
            )
            loops.others.append(SocketLoopHandle(loop))
        }
    }

    /// Starts the loops on other threads.
    func startWorkers() throws(ServerError) {
        guard loops.others.allSatisfy({ $0.start() }) else {
            endWorkers()
            throw .threads("the system cannot start a thread for each of the --loops: raise the limit on threads")
        }
    }

    /// Stops the loops on other threads, and waits until they have ended.
    func endWorkers() {
        for worker in loops.others { worker.loop.stop() }
        for worker in loops.others { worker.join() }
        loops.compressor.end()
    }

    /// For each loop a function that runs a closure on its thread, from any thread; complete once the gateway is open.
    package var loopPosts: [@Sendable (@escaping @Sendable () -> Void) -> Void] {
        ([server].compactMap { $0 } + loops.others.map(\.loop.server)).map { server in { server.post($0) } }
    }

    // MARK: Commands

    @inline(__always)
    func sendFrame(_ frame: Frame, to socket: SocketID, _ ownLoop: SocketLoop) {
        if !LinkNumber.isElsewhere(socket.rawValue) {
            ownLoop.sendFrame(frame, to: socket)
        } else if !sendElsewhere(frame, to: socket) {
            log.debug(
                "a connection reads too slowly and is closed",
                [.connection(ConnectionNumber(socket.rawValue)), .bytes(bytesWaiting(with: socket))]
            )
            close(socket, code: 4408, reason: "too slow", discardingQueue: true)
            tooSlow(socket)
        }
    }

    /// Sends a frame to a socket of another loop or another node; returns `false` if too much already waits for it.
    private func sendElsewhere(_ frame: Frame, to socket: SocketID) -> Bool {
        guard LinkNumber.link(of: socket.rawValue) == 0 else { return node?.sendFrame(frame, to: socket) ?? true }
        return loops.others[socket.loop - 1].sendFrame(frame, to: socket)
    }

    /// The bytes that wait for the other loop or the other node of a socket.
    private func bytesWaiting(with socket: SocketID) -> Int {
        let link = LinkNumber.link(of: socket.rawValue)
        guard link == 0 else { return node?.bytesWaiting(with: socket) ?? 0 }
        return loops.others[socket.loop - 1].bytesUnderWay
    }

    func ping(_ socket: SocketID, _ number: UInt64) { carryOut(.ping(socket, number), for: socket.rawValue) }

    func close(_ socket: SocketID, code: UInt16, reason: String, discardingQueue: Bool = false) {
        carryOut(.close(socket, code: code, reason: reason, discardingQueue: discardingQueue), for: socket.rawValue)
    }

    func respond(_ request: RequestID, with response: Response) {
        if node != nil { requests.open.remove(request) }
        carryOut(.respond(request, response), for: request.rawValue, bytes: response.body.count)
    }

    /// Records that the user of a request is known, so that its connection no longer counts as unauthenticated.
    func markAuthenticated(for request: RequestID) { carryOut(.markAuthenticated(request), for: request.rawValue) }

    /// Closes all WebSocket connections of this node.
    func closeAll(code: UInt16, reason: String) {
        for loop in 0...loops.others.count { pass(.closeAll(code: code, reason: reason), to: loop) }
    }

    /// Carries out a command on the socket or the request of this number, at once if it belongs to this thread's loop.
    ///
    /// This function is inlined into each call, where the compiler knows the command's case. So for the loop of this
    /// thread no command value is built.
    @inline(__always)
    func carryOut(_ command: SocketCommand, for number: UInt64, bytes: Int = 0) {
        if !LinkNumber.isElsewhere(number) {
            loops.own?.carryOut(command)
        } else if LinkNumber.link(of: number) == 0 {
            loops.others[SocketID(rawValue: number).loop - 1].queue(.socket(command), bytes: bytes)
        } else {
            node?.sendCommand(command, to: number)
        }
    }

    /// Passes a command to a loop, to that of this thread at once.
    private func pass(_ command: LoopCommand, to loop: Int) {
        if loop == 0 { loops.own?.carryOut(command) } else { loops.others[loop - 1].queue(command) }
    }

    /// Passes the commands of this turn to the other loops.
    func flushWorkers() {
        for worker in loops.others { worker.flush() }
    }

    // MARK: Certificates

    /// Serves a renewed certificate to all connections that are made from now on, on every loop; from any thread.
    package func serve(_ certificate: ServerCertificate) {
        post { gateway in
            gateway.loops.own?.serve(certificate)
            for worker in gateway.loops.others { worker.loop.serve(certificate) }
        }
    }

    /// Replaces the keys of TLS session tickets if they are old enough; call it regularly, from any thread.
    package func renewTickets() { server?.renewTickets(at: configuration.clock.now()) }

    // MARK: Shutdown

    /// Whether there is no connection left on any loop.
    var hasNoConnections: Bool { server?.connectionCount == 0 && loops.others.allSatisfy { $0.connections == 0 } }

    /// Makes all loops accept no more connections, and asks the other loops how many they still have.
    func stopListening() {
        for loop in 0...loops.others.count { pass(.stopListening, to: loop) }
        countConnections()
    }

    /// Asks the other loops for the number of their connections; the number of this thread's loop is always known.
    func countConnections() {
        for worker in loops.others where worker.connections != 0 { worker.queue(.count) }
    }
}
