import CallCore
import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// Handles the events of all loops.
extension Gateway {
    /// Handles an event of a loop; on the gateway's thread.
    ///
    /// This function is inlined into each call from this thread's loop, where the compiler knows the event's case. So
    /// no event value is built, and the `switch` costs nothing.
    @inline(__always)
    func take(_ event: LoopEvent) {
        if passesEventsOn, node?.passOn(event) == true { return }
        decide(event)
    }

    /// Handles an event of a socket of this node or, at the owner, of another node.
    @inline(__always)
    func decide(_ event: LoopEvent) {
        switch event {
        case .opened(let socket, let admission):
            feed(.opened(ConnectionID(rawValue: socket.rawValue), admission.principal, device: admission.device))
        case .openedSocketIO(let socket, let handshake): opened(socket, handshake)
        case .received(let socket, let bytes): received(bytes, on: socket)
        case .ponged(let socket, let number): showedLife(number, on: socket)
        case .signOfLife(let socket): showedLife(nil, on: socket)
        case .tooSlow(let socket): tooSlow(socket)
        case .closed(let socket, let code): closed(socket, code: code)
        case .requested(let exchange, let request): take(request, exchange)
        case .forwarded(let exchange, let head, let body): takeForwarded(exchange, head, body)
        case .forwardedSocketIO(let socket, let head): openedForwarded(socket, head)
        case .requestedByOperator(let exchange, let head): respondToOperator(head, exchange)
        case .healthRequested(let exchange, let head): respond(exchange, with: healthCheck(head))
        case .abandoned(let exchange): abandoned(exchange)
        case .counted(let count, let loop): counted(count, loop: loop)
        }
    }

    @inline(__always)
    private func received(_ bytes: [UInt8], on socket: SocketID) {
        if let session = socketIO.bySocket[socket] {
            handle(.socketReceived(bytes), session)
        } else {
            feed(.received(ConnectionID(rawValue: socket.rawValue), bytes))
        }
    }

    /// Handles a pong to the ping with this number; `nil` means another sign of life.
    private func showedLife(_ number: UInt64?, on socket: SocketID) {
        if let session = socketIO.bySocket[socket] {
            handle(.socketPonged(number), session)
            return
        }
        let connection = ConnectionID(rawValue: socket.rawValue)
        feed(number.map { .ponged(connection, $0) } ?? .signOfLife(connection))
    }

    /// Handles a connection that was closed because it read too slowly.
    func tooSlow(_ socket: SocketID) {
        if let session = socketIO.bySocket[socket] {
            handle(.closedByServer(code: 4408, reason: "too slow"), session)
        } else {
            queueDrops += 1
        }
    }

    private func closed(_ socket: SocketID, code: UInt16?) {
        if closedSocketIO(socket) { return }
        feed(.closed(ConnectionID(rawValue: socket.rawValue), code: code))
    }

    private func counted(_ count: Int, loop: Int) {
        if loop > 0 { workers[loop - 1].connections = count }
    }
}
