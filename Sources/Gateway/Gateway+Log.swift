import CallCore
import CallPorts
import CallWire
import LibWebSockets
import ServerLog
import Switchboard

/// The log lines about what the switchboard reports while somebody looks for a fault, and about shutting down.
extension Gateway {
    /// How much the switchboard is to report at the log's present level.
    var wantedDetail: Switchboard.Detail {
        log.isOn(.trace) ? .calls : log.isOn(.debug) ? .connections : .none
    }

    func write(_ note: Switchboard.TraceNote) {
        switch note {
        case .opened(let connection, let user, let device, _):
            log.debug(
                "a connection was opened",
                [
                    .connection(connection.logged), .user(user), .device(device),
                    .transport(OwnWords(transport(of: connection))),
                ]
            )
        case .closing(let connection, let code, let reason):
            log.debug(
                "the server closes a connection",
                [.connection(connection.logged), .code(code), .closeReason(OwnWords(reason))]
            )
        case .closed(let connection, let user, let device, let code, let span):
            log.debug(
                "a connection has ended",
                [
                    .connection(connection.logged), .user(user), .device(device),
                    .transport(OwnWords(transport(of: connection))), .seconds(span.milliseconds / 1_000),
                    code.map { .code($0) },
                ]
            )
        case .backlogged(let connection, let bytes):
            log.debug(
                "a connection reads slowly: signals and texts to it may be refused",
                [.connection(connection.logged), .bytes(bytes)]
            )
        case .caughtUp(let connection): log.debug("a connection has caught up", [.connection(connection.logged)])
        case .refusedFrame(let connection, let call, let error):
            log.debug(
                "a frame was refused",
                [
                    .connection(connection.logged), .refusal(OwnWords(error.code)), .why(OwnWords(error.message)),
                    call.map { .call($0) },
                ]
            )
        case .refusedRequest(let request, let error):
            log.debug(
                "a request was refused",
                [.request(request.logged), .refusal(OwnWords(error.code)), .why(OwnWords(error.message))]
            )
        case .unanswered(let failure):
            log.debug("the store cannot answer a question", [.error(ForeignText(failure.message))])
        case .signal(let kind, let call, let user, let device, let origin):
            log.trace(
                "a signal was received",
                [call.map { .call($0) }, .signal(kind), .user(user), .device(device), origin.logField]
            )
        case .request(let request, let name, let user, let call):
            log.trace(
                "a request is carried out",
                [.request(request.logged), .requestName(OwnWords(name)), .user(user), call.map { .call($0) }]
            )
        case .begins(let call, let meaning, let caller, _):
            log.trace(
                "an offer begins a call",
                [call.map { .call($0) }, .meaning(OwnWords(meaning)), .user(caller)]
            )
        case .waits(let call, _):
            log.trace("something waits for a call at rest", [call.map { .call($0) }])
        case .call(let call, let step): write(step, of: call)
        }
    }

    private func write(_ step: Switchboard.CallStep, of call: Switchboard.CallTag) {
        let names: [LogField?] = [.call(call.id), .epoch(call.epoch), .callNumber(call.number)]
        switch step {
        case .offer(let meaning): log.trace("an offer is for a known call", names + [.meaning(OwnWords(meaning))])
        case .began(let start): log.trace("a call is begun", names + [.start(OwnWords(start))])
        case .input(let input, let device):
            log.trace("the call gets an input", names + [.input(OwnWords(input)), device.map { .device($0) }])
        case .relayed(let seq, let kind, let connections):
            let content: LogField =
                switch kind {
                case .signal(let kind): .signal(kind)
                case .state(let state): .state(state)
                }
            let to = connections.map(\.logged)
            log.trace(
                "an entry was relayed",
                names + [.seq(seq), content, .relayCount(to.count), to.isEmpty ? nil : .relayedTo(to)]
            )
        case .acknowledged(let seq, let origin, let waits):
            log.trace(
                waits ? "a signal is acknowledged when it is durable" : "a signal is acknowledged",
                names + [.seq(seq), origin.logField]
            )
        case .refused: log.trace("the call refuses a signal", names)
        case .fetched(let request): log.trace("a fetch is answered", names + [.request(request.logged)])
        case .replayed(let connection, let seq):
            log.trace("an entry was sent again", names + [.seq(seq), .connection(connection.logged)])
        case .event(let name, let device):
            log.trace(
                "an event is in the timeline",
                names + [.event(OwnWords(name)), device.map { .device($0) }]
            )
        case .timer: log.trace("the call's timer fired", names)
        case .rested: log.trace("the ended call is only in the store from now on", names)
        case .takenUp: log.trace("the ended call was read from the store", names)
        case .forgotten: log.trace("the ended call can no longer be fetched", names)
        case .handedOver(let ticket):
            log.trace("changes of the call go to the store", names + [.commit(ticket.rawValue)])
        case .committed(let ticket): log.trace("changes of the call are durable", names + [.commit(ticket.rawValue)])
        }
    }

    private func transport(of connection: SessionID) -> String {
        guard SocketIOSessions.mayHold(connection) else { return "websocket" }
        return socketIO.byID[connection]?.connection == nil ? "socketio.polling" : "socketio.websocket"
    }

    // MARK: Shutting down

    /// Logs once a second how many connections are still open.
    func logDraining() {
        let second = now.milliseconds / 1_000
        guard log.isOn(.debug), second != drainLoggedAt, let server else { return }
        drainLoggedAt = second
        log.debug("connections are still being closed", [.connections(server.connectionCountOfAllLoops)])
    }

    /// Logs the end of shutting down.
    func logDrained() {
        guard let server else { return }
        let left = server.connectionCountOfAllLoops
        log.debug(
            left == 0 ? "all connections are closed" : "the time for closing is over: connections are cut off",
            [.connections(left)]
        )
    }
}

extension SessionID {
    /// The connection as the log shows it.
    fileprivate var logged: ConnectionNumber { ConnectionNumber(rawValue) }
}

extension RequestID {
    /// The request as the log shows it.
    fileprivate var logged: RequestNumber { RequestNumber(rawValue) }
}

extension Switchboard.Origin {
    fileprivate var logField: LogField {
        switch self {
        case .connection(let connection): .connection(connection.logged)
        case .request(let request): .request(request.logged)
        }
    }
}
