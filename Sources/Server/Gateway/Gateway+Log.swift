import CallCore
import CallPorts
import CallWire
import LibWebSockets
import ServerLog
import Switchboard

/// Logs the switchboard's reports at the levels `debug` and `trace`, and the progress of a shutdown.
extension Gateway {
    /// How much the switchboard reports at the log's present level.
    var wantedDetail: Switchboard.Detail {
        log.isOn(.trace) ? .calls : log.isOn(.debug) ? .connections : .none
    }

    func write(_ note: Switchboard.Note) {
        switch note {
        case .began(let id, let epoch):
            log.info("call began", [.call(id), .epoch(epoch)])
        case .ended(let id, let epoch, let reason):
            log.info("call ended", [.call(id), .epoch(epoch), .reason(reason)])
        case .pushFailed(let failure):
            log.limited(
                level: .warning,
                "push failed",
                of: failure.user.text,
                [
                    .call(failure.call), .device(failure.device), .pushStatus(failure.status),
                    .pushReason(UntrustedText(failure.reason)),
                ]
            )
        case .storeStalled(let why): log.error("the store cannot write", [.error(UntrustedText(why))])
        case .storeRecovered: log.notice("the store can write again")
        case .storeBehind(let resent, let lost):
            log.error(
                "the database had lost commits that it had confirmed; see Troubleshooting",
                [.error(about: OperatorText("\(resent) were sent again, \(lost) are lost"))]
            )
        case .oddClock(let age):
            log.warning(
                "the clock is far from the newest record; no history is deleted for an hour",
                [.clockAhead(seconds: Self.seconds(age.milliseconds))]
            )
        case .damaged(let damage):
            log.error(
                damage.remedy == .leftOut
                    ? "a row of the database holds an invalid value and was left out"
                    : "a value in the database is invalid and was replaced by the nearest valid one",
                [
                    .table(ServerText(damage.table)), .column(ServerText(damage.column)),
                    .row(UntrustedText(damage.row)),
                ]
            )
        case .unreadable(let number):
            log.error("a stored call cannot be read and was left out", [.callNumber(number)])
        case .events(let note): write(note)
        case .decided, .decisionMalformed, .decisionsFail, .decisionsSucceed: writeDecisions(note)
        case .eventsLost(let count):
            log.error("events were deleted before the app's backend had them; see Troubleshooting", [.events(count)])
        case .schedulesPlanned(let count):
            log.notice("the date was corrected; the next calls of schedules have changed", [.schedules(count)])
        case .unknownTimeZone(let user):
            log.limited(
                level: .error,
                "the time zone of a schedule is unknown, so no new call is planned; see Troubleshooting",
                of: user.text,
                [.user(user)]
            )
        case .unknownName(let name, let place):
            log.info(
                "a client sent an unknown member",
                [.place(ServerText(place)), .member(UntrustedText(name))]
            )
        }
    }

    /// Logs a note about the decisions of the app's backend.
    private func writeDecisions(_ note: Switchboard.Note) {
        switch note {
        case .decided(let call, let outcome, let code, let waited): write(outcome, of: call, code, after: waited)
        case .decisionMalformed(let why):
            log.limited(
                level: .warning,
                "the app's backend gave a response that no decision can be read from",
                of: nil,
                linesPerMinute: 1,
                [.error(UntrustedText(why))]
            )
        case .decisionsFail:
            log.warning("the app's backend does not decide about calls; it is asked again in 10 s")
        case .decisionsSucceed: log.notice("the app's backend decides about calls again")
        default: break
        }
    }

    /// Logs that the app's backend did not allow a call, or did not decide about it.
    private func write(_ outcome: DecisionOutcome, of call: CallID, _ code: String?, after waited: Moment.Duration) {
        let fields: [LogField?] = [
            .call(call), .decision(ServerText(outcome.rawValue)), code.map { .decisionCode(UntrustedText($0)) },
            .decisionMilliseconds(waited.milliseconds),
        ]
        switch outcome {
        case .refused: log.info("the app's backend refused a call", fields)
        case .hidden: log.info("the app's backend hid a call from its callee", fields)
        case .allowed, .late, .unreachable, .malformed, .unasked, .overloaded, .withdrawn:
            log.info("the app's backend did not decide about a call", fields)
        }
    }

    /// Logs a change in the delivery of events to the app's backend.
    private func write(_ note: EventDeliveries.Note) {
        switch note {
        case .down(let url, let result):
            log.warning(
                "an endpoint accepts no events; they wait",
                [.endpoint(OperatorText(EventEndpoint.shown(url)))] + Self.fields(of: result)
            )
        case .recovered(let url, let duration):
            log.notice(
                "an endpoint accepts events again",
                [.endpoint(OperatorText(EventEndpoint.shown(url))), .seconds(Self.seconds(duration.milliseconds))]
            )
        case .stopped(let url):
            log.error(
                "an endpoint has said that it is gone (410): it is sent nothing until an operator resends",
                [.endpoint(OperatorText(EventEndpoint.shown(url)))]
            )
        case .parked(let url, let count, _):
            log.error(
                "events were refused for three days and are parked: ringline events resend sends them again",
                [.endpoint(OperatorText(EventEndpoint.shown(url))), .events(count)]
            )
        }
    }

    private static func fields(of result: DeliveryResult) -> [LogField] {
        switch result {
        case .response(let status, _): [.responseStatus(status)]
        case .unreachable(let why): [.error(UntrustedText(why))]
        }
    }

    func write(_ note: Switchboard.TraceNote) {
        switch note {
        case .opened(let socket, let user, let device, _):
            log.debug("a connection was opened", fields(of: socket, user, device))
        case .closing(let socket, let code, let reason):
            log.debug(
                "the server closes a connection",
                [.connection(socket.logged), .code(code), .closeReason(ServerText(reason))]
            )
        case .closed(let socket, let user, let device, let code, let span):
            log.debug(
                "a connection has ended",
                fields(of: socket, user, device) + [.seconds(span.milliseconds / 1_000), code.map { .code($0) }]
            )
        case .backlogged(let socket, let bytes):
            log.debug(
                "a connection reads slowly: signals and texts to it may be refused",
                [.connection(socket.logged), .bytes(bytes)]
            )
        case .caughtUp(let socket): log.debug("a connection has caught up", [.connection(socket.logged)])
        case .refusedFrame(let socket, let call, let error):
            log.debug(
                "a frame was refused",
                [
                    .connection(socket.logged), .refusal(ServerText(error.code)), .why(ServerText(error.message)),
                    call.map { .call($0) },
                ]
            )
        case .refusedRequest(let request, let error):
            log.debug(
                "a request was refused",
                [.request(request.logged), .refusal(ServerText(error.code)), .why(ServerText(error.message))]
            )
        case .queryFailed(let failure):
            log.debug("the store cannot be queried", [.error(UntrustedText(failure.message))])
        case .signal(let kind, let call, let user, let device, let origin):
            log.trace(
                "a signal was received",
                [call.map { .call($0) }, .signal(kind), .user(user), .device(device), origin.logField]
            )
        case .request(let request, let name, let user, let call):
            log.trace(
                "a request is carried out",
                [.request(request.logged), .requestName(ServerText(name.text)), .user(user), call.map { .call($0) }]
            )
        case .begins(let call, let meaning, let caller, _):
            log.trace(
                "an offer begins a call",
                [call.map { .call($0) }, .meaning(ServerText(meaning.text)), .user(caller)]
            )
        case .waits(let call, _):
            log.trace("work waits for the store: an ended call or an epoch", [call.map { .call($0) }])
        case .call(let call, let step): write(step, of: call)
        }
    }

    /// Returns the fields that say which connection a line is about, and whose it is.
    private func fields(of socket: SocketID, _ user: UserID, _ device: DeviceID) -> [LogField?] {
        [
            .connection(socket.logged), .user(user), .device(device),
            .transport(ServerText(transport(of: socket))),
        ]
    }

    private func write(_ step: Switchboard.CallStep, of call: Switchboard.CallTag) {
        let names: [LogField?] = [.call(call.id), .epoch(call.epoch), .callNumber(call.number)]
        switch step {
        case .offer(let meaning):
            log.trace("an offer is for a known call", names + [.meaning(ServerText(meaning.text))])
        case .began(let start): log.trace("a call is begun", names + [.start(ServerText(start.text))])
        case .input(let input, let device):
            log.trace("the call gets an input", names + [.input(ServerText(input.text)), device.map { .device($0) }])
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
        case .replayed(let socket, let seq):
            log.trace("an entry was sent again", names + [.seq(seq), .connection(socket.logged)])
        case .event(let name, let device):
            log.trace(
                "an event is in the timeline",
                names + [.event(ServerText(name)), device.map { .device($0) }]
            )
        case .timer: log.trace("the call's timer fired", names)
        case .putToRest: log.trace("the ended call is only in the store from now on", names)
        case .loaded: log.trace("the ended call was read from the store", names)
        case .forgotten: log.trace("the ended call can no longer be fetched", names)
        case .queuedForCommit(let ticket):
            log.trace("changes of the call go to the store", names + [.commit(ticket.rawValue)])
        case .committed(let ticket): log.trace("changes of the call are durable", names + [.commit(ticket.rawValue)])
        }
    }

    private func transport(of socket: SocketID) -> String {
        guard SocketIOSessions.isSocketIO(socket) else { return "websocket" }
        return socketIO.byID[socket]?.socket == nil ? "socketio.polling" : "socketio.websocket"
    }

    // MARK: Shutting down

    /// Logs once a second how many connections are still open.
    func logDraining() {
        let second = now.milliseconds / 1_000
        guard log.isOn(.debug), second != ending.loggedAt, let server else { return }
        ending.loggedAt = second
        log.debug("connections are still being closed", [.connections(server.connectionCountOfAllLoops)])
    }

    /// Logs that the shutdown is over, with the number of connections that it cuts off.
    func logDrained() {
        guard let server else { return }
        let left = server.connectionCountOfAllLoops
        log.debug(
            left == 0 ? "all connections are closed" : "the time for closing is over: connections are cut off",
            [.connections(left)]
        )
    }
}

extension SocketID {
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
        case .connection(let socket): .connection(socket.logged)
        case .request(let request): .request(request.logged)
        }
    }
}
