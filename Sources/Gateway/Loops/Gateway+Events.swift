import CallCore
import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// Handles the events of all loops.
extension Gateway {
    /// Handles an event of a loop; on the owner's thread.
    ///
    /// Inlined at each call from this thread's loop, where the case is known. So no event is built and the `switch`
    /// costs nothing.
    @inline(__always)
    func take(_ event: LoopEvent) {
        switch event {
        case .opened(let connection, let admission):
            feed(.opened(SessionID(rawValue: connection.rawValue), admission.who, device: admission.device))
        case .openedEngine(let connection, let handshake): opened(connection, handshake)
        case .received(let connection, let bytes): received(bytes, on: connection)
        case .ponged(let connection, let number): ponged(number, on: connection)
        case .tooSlow(let connection): tooSlow(connection)
        case .closed(let connection, let code): closed(connection, code: code)
        case .requested(let exchange, let request): take(request, exchange)
        case .requestedByOperator(let exchange, let head): respond(exchange, with: administer(head))
        case .abandoned(let exchange): abandoned(exchange)
        case .counted(let count, let loop): counted(count, loop: loop)
        }
    }

    @inline(__always)
    private func received(_ bytes: [UInt8], on connection: ConnectionID) {
        if let session = socketIO.byConnection[connection] {
            handle(.socketReceived(bytes), session)
        } else {
            feed(.received(SessionID(rawValue: connection.rawValue), bytes))
        }
    }

    func ponged(_ number: UInt64?, on connection: ConnectionID) {
        if let session = socketIO.byConnection[connection] {
            handle(.socketPonged(number), session)
            return
        }
        let session = SessionID(rawValue: connection.rawValue)
        feed(number.map { .ponged(session, $0) } ?? .showedLife(session))
    }

    /// Handles a connection that was closed because it read too slowly.
    func tooSlow(_ connection: ConnectionID) {
        if let session = socketIO.byConnection[connection] {
            handle(.dismissed(code: 4408, reason: "too slow"), session)
        } else {
            queueDrops += 1
        }
    }

    private func closed(_ connection: ConnectionID, code: UInt16?) {
        if closedSocketIO(connection) { return }
        feed(.closed(SessionID(rawValue: connection.rawValue), code: code))
    }

    private func counted(_ count: Int, loop: Int) {
        if loop > 0 { workers[loop - 1].connections = count }
    }
}
