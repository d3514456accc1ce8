import CallCore
import CallPorts
import CallWire

/// The outputs that many decisions have in common: responses, refusals, queries to the store, pings and closes.
extension Switchboard {
    /// Counts and traces a refusal.
    mutating func countRefusal(_ error: WireError, _ note: @autoclosure () -> TraceNote) {
        metrics.refusals[error.code.rawValue, default: 0] += 1
        trace(from: .connections, note())
    }

    mutating func refuse(_ id: RequestID, _ error: WireError) {
        countRefusal(error, .refusedRequest(id, error))
        turn.out.append(.reply(id, Reply(error)))
    }

    mutating func tell(_ error: WireError, id: SignalID?, callID: CallID? = nil, to connection: Connection) {
        countRefusal(error, .refusedFrame(connection.id, callID, error))
        turn.out.append(.send(connection.id, ServerFrame.error(error, id: id, callID: callID)))
    }

    /// Sends something once all changes so far are durable; immediately if they already are.
    ///
    /// While the store cannot write, a request whose changes are not durable is refused instead of waiting.
    mutating func sendWhenDurable(_ content: DeferredOutput.Content) {
        if commits.isDurable, let output = content.output {
            turn.out.append(output)
        } else if metrics.isStalled, case .reply(let id, _) = content {
            turn.out.append(.reply(id, Self.storeUnavailable))
        } else {
            commits.wait(content, since: turn.now)
        }
    }

    mutating func submit(_ query: StoreQuery, for purpose: PendingQuery) {
        let id = queries.register(for: purpose, in: query.lane, at: turn.now)
        metrics.queriesUnderWay[query.lane.rawValue] += 1
        // The query must see all changes so far. The outputs are moved out of the turn, not copied.
        var outputs: [Output] = []
        swap(&outputs, &turn.out)
        flushCommits(into: &outputs)
        swap(&outputs, &turn.out)
        turn.out.append(.submit(query, id))
    }

    mutating func ping(_ connection: Connection) {
        connection.pingedAt = turn.now
        connection.pings += 1
        connection.signsOfLife = 0
        connection.backlog.pinged(connection.pings, at: turn.now)
        turn.out.append(.ping(connection.id, connection.pings))
    }

    mutating func close(_ id: SocketID, code: UInt16, _ reason: String, isLost: Bool = false) {
        countClose(code)
        trace(from: .connections, .closing(id, code: code, reason: reason))
        if turn.detail != .none { connections[id]?.closedWith = code }
        turn.out.append(.close(id, code: code, reason: reason, isLost: isLost))
    }

    mutating func countClose(_ code: UInt16) { metrics.closes[code, default: 0] += 1 }

    /// Counts and reports an invalid value that was found in the store.
    mutating func noteDamage(_ damage: DamagedValue) {
        metrics.damages[damage.remedy, default: 0] += 1
        turn.out.append(.note(.damaged(damage)))
    }

    static let storeUnavailableError = WireError(
        .storeUnavailable,
        "the database cannot be read at the moment: try again"
    )

    static let storeUnavailable = Reply(
        WireError(.storeUnavailable, "the database cannot be written at the moment; nothing was lost, try again")
    )

    static let unknownCall = WireError(.notFound, "no such call")
}
