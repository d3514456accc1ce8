import CallCore
import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// Handles the events of all loops.
extension Gateway {
    /// Handles an event of a socket of this node; on the gateway's thread.
    ///
    /// This function is inlined into each call from this thread's loop, where the compiler knows the event's case. So
    /// no event value is built, and the `switch` costs nothing.
    @inline(__always)
    func eventReceived(_ event: SocketEvent) {
        if passesEventsOn, node?.passOn(event) == true { return }
        decide(event)
    }

    /// Handles what a loop passes on; on the gateway's thread.
    ///
    /// It is inlined for the same reason.
    @inline(__always)
    func loopReported(_ event: LoopEvent) {
        switch event {
        case .socket(let event): eventReceived(event)
        // This node has lost the calls since its loop checked the request.
        case .checked(let id, _) where passesEventsOn: node?.refuse(id)
        case .checkedSocketIO(let socket, _) where passesEventsOn:
            close(socket, code: 1001, reason: "the server is moving; reconnect")
        case .checked(let id, let request): requestChecked(request, id)
        case .checkedSocketIO(let socket, let handshake): opened(socket, handshake)
        case .counted(let count, let loop): if loop > 0 { loops.others[loop - 1].connections = count }
        }
    }

    /// Handles an event of a socket of this node or, at the owner, of another node.
    @inline(__always)
    func decide(_ event: SocketEvent) {
        switch event {
        case .opened(let socket, let principal, let device): feed(.opened(socket, principal, device: device))
        case .openedSocketIO(let socket, let head): openedSocketIO(socket, head)
        case .received(let socket, let bytes): messageReceived(bytes, on: socket)
        case .ponged(let socket, let number): showedLife(number, on: socket)
        case .signOfLife(let socket): showedLife(nil, on: socket)
        case .tooSlow(let socket): tooSlow(socket)
        case .closed(let socket, let code): closed(socket, code: code)
        case .requested(let id, let head, let body): requested(id, head, body)
        case .abandoned(let id): abandoned(id)
        }
    }

    @inline(__always)
    private func messageReceived(_ bytes: [UInt8], on socket: SocketID) {
        if let session = socketIO.bySocket[socket] {
            feedSession(.socketReceived(bytes), session)
        } else {
            feed(.received(socket, bytes))
        }
    }

    /// Handles a pong to the ping with this number; `nil` means another sign of life.
    private func showedLife(_ number: UInt64?, on socket: SocketID) {
        if let session = socketIO.bySocket[socket] {
            feedSession(.socketPonged(number), session)
            return
        }
        feed(number.map { .ponged(socket, $0) } ?? .signOfLife(socket))
    }

    /// Handles a connection that was closed because it read too slowly.
    func tooSlow(_ socket: SocketID) {
        if let session = socketIO.bySocket[socket] {
            feedSession(.closedByServer(code: 4408, reason: "too slow"), session)
        } else {
            counts.queueDrops += 1
        }
    }

    private func closed(_ socket: SocketID, code: UInt16?) {
        if closedSocketIO(socket) { return }
        feed(.closed(socket, code: code))
    }
}
