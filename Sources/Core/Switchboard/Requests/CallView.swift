import CallCore
import CallPorts
import CallWire

/// Calls as the history shows them to a client.
enum CallView {
    /// Returns a user's calls, newest first.
    static func history(_ records: [CallRecord], for principal: Principal) -> [UInt8] {
        CallBody.list(records.map { body($0, for: principal) }, asIntegers: principal.userIsInteger)
    }

    /// Returns one call as the history shows it.
    static func one(_ record: CallRecord, for principal: Principal) -> [UInt8] {
        body(record, for: principal).bytes(asIntegers: principal.userIsInteger)
    }

    /// Returns one call with its legs.
    ///
    /// The caller sees no leg of the callee: if legs were shown, a call without legs of the callee would reveal a
    /// block.
    static func details(_ record: CallRecord, for principal: Principal) -> [UInt8] {
        var body = body(record, for: principal)
        body.legs = record.legs.filter { $0.side == .caller || principal.isService || record.callee == principal.user }
        return body.bytes(asIntegers: principal.userIsInteger)
    }

    private static func direction(of record: CallRecord, for user: UserID) -> CallBody.Direction {
        if record.caller == user { return .outgoing }
        return record.answeredAt == nil && record.reason != .confirmed ? .missed : .incoming
    }

    private static func body(_ record: CallRecord, for principal: Principal) -> CallBody {
        var body = CallBody(
            number: record.number,
            callID: record.id,
            epoch: record.epoch,
            room: record.room,
            caller: record.caller,
            callee: record.callee,
            hasVideo: record.hasVideo,
            state: record.state,
            reason: record.reason,
            direction: direction(of: record, for: principal.user),
            startedAt: record.startedAt,
            answeredAt: record.answeredAt,
            activeAt: record.activeAt,
            endedAt: record.endedAt
        )
        body.scheduled = record.scheduled.map { ($0.schedule, $0.occurrence, $0.ring) }
        return body
    }
}
