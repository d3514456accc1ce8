import CallCore
import CallPorts
import CallWire

/// Withholding: a change of a call's course is shown only when it is durable, if the policy says so.
///
/// A server that shares its database with others may have lost the calls to another one without knowing it. Whatever
/// it decides then is never committed, so nobody may have seen it. Candidates and the like are shown at once, unless
/// the call withholds an earlier entry.
extension Switchboard {
    /// Whether entries of a call are withheld.
    func hasWithheldEntries(_ call: Call) -> Bool { !call.withheld.isEmpty }

    /// Returns the number of a call's entries that are shown.
    func shownCount(of call: Call) -> Int { call.withheld.first ?? call.frames.count }

    /// Withholds the newest entry of a call if the policy demands it; returns whether it is withheld.
    mutating func withholdIfNeeded(_ entry: LogEntry, of call: Call) -> Bool {
        guard policy.withholdsDecisions else { return false }
        guard entry.changesCourse else { return hasWithheldEntries(call) }
        let isNewWait = call.withheld.withhold(call.frames.count - 1, until: commits.ticket)
        if isNewWait { commits.releaseWhenDurable(call.number) }
        return true
    }

    /// Refuses a signal.
    ///
    /// The refusal may tell of another device's answer, for instance. So it waits like the answer does. A server that may
    /// be deposed does not know the newest calls: it waits even if all its changes are durable.
    mutating func refuseSignal(_ error: WireError, id: SignalID?, _ callID: CallID?, to connection: Connection) {
        guard policy.withholdsDecisions, error.code.tellsOfCall else {
            tell(error, id: id, callID: callID, to: connection)
            return
        }
        countRefusal(error, .refusedFrame(connection.id, callID, error))
        if policy.marksLogs { commits.demandCommit() }
        sendWhenDurable(.frame(connection.id, ServerFrame.error(error, id: id, callID: callID)))
    }

    /// Refuses a signal that came in a request; see ``refuseSignal(_:id:_:to:)``.
    mutating func refuseSignal(_ error: WireError, as id: RequestID) {
        guard policy.withholdsDecisions, error.code.tellsOfCall else {
            refuse(id, error)
            return
        }
        countRefusal(error, .refusedRequest(id, error))
        if policy.marksLogs { commits.demandCommit() }
        sendWhenDurable(.reply(id, Reply(error)))
    }

    /// Refuses a fetch of a call that this server does not know.
    mutating func refuseFetch(as id: RequestID) {
        guard policy.marksLogs else {
            refuse(id, Self.unknownCall)
            return
        }
        refuseSignal(Self.unknownCall, as: id)
    }
}

extension LogEntry {
    /// Whether the entry changes the call's course, and so must be durable before anybody sees it.
    var changesCourse: Bool {
        switch content {
        case .state: true
        case .signal(let kind, _, _, _, _):
            switch kind {
            case .offer, .ringing, .answer, .connected, .end: true
            case .ice, .update, .dtmf, .info: false
            }
        }
    }
}

extension WireCode {
    /// Whether an error with this code tells something of a call's course.
    fileprivate var tellsOfCall: Bool {
        switch self {
        case .storeUnavailable, .draining, .rateLimited: false
        default: true
        }
    }
}
