import CallCore
import SQLite
import Switchboard

/// Makes records of rows.
///
/// A value that this version cannot read is an error that names the row, never left out.
enum RowReader {
    static let callColumns = """
        number, id, epoch, room, caller, callee, display_name, has_video, started_at, ring_until, answered_at, \
        active_at, ended_at, reason, replaced_by, hidden, legs, state
        """

    /// The call of a row of ``callColumns``.
    static func call(_ row: Statement) throws(Unreadable) -> CallRecord {
        let number = row.int64(0)
        guard let id = CallID(row.text(1)), let epoch = UInt32(exactly: row.int64(2)), let caller = UserID(row.text(4)),
            let callee = UserID(row.text(5)), let legs = LegText.decode(row.text(16)),
            let reason = row.word(13, EndReason.init(rawValue:)), let replacedBy = row.word(14, CallID.init),
            let hidden = row.word(15, CallRecord.Hidden.init(rawValue:))
        else { throw Unreadable(row: "call \(number)") }
        return CallRecord(
            number: CallNumber(rawValue: number),
            id: id,
            epoch: epoch,
            room: row.text(3),
            caller: caller,
            callee: callee,
            displayName: row.optionalText(6),
            hasVideo: row.int64(7) != 0,
            startedAt: row.moment(8),
            ringUntil: row.moment(9),
            answeredAt: row.optionalMoment(10),
            activeAt: row.optionalMoment(11),
            endedAt: row.optionalMoment(12),
            reason: reason.value,
            replacedBy: replacedBy.value,
            hidden: hidden.value,
            legs: legs,
            state: row.text(17)
        )
    }

    static let entryColumns = "call, seq, at, kind, device, mark, audience, signal_id, digest, object"

    /// The entry of a row of ``entryColumns``.
    static func entry(_ row: Statement) throws(Unreadable) -> EntryRecord {
        let seq = UInt64(bitPattern: row.int64(1))
        guard let device = row.word(4, DeviceID.init) else {
            throw Unreadable(row: "entry \(seq) of call \(row.int64(0))")
        }
        let mark = TokenMark(rawValue: UInt64(bitPattern: row.int64(5)))
        return EntryRecord(
            seq: seq,
            at: row.moment(2),
            kind: row.text(3),
            sender: device.value.map { Phone(id: $0, mark: mark) },
            audience: row.text(6),
            signalID: row.optionalText(7),
            digest: UInt64(bitPattern: row.int64(8)),
            object: row.bytes(9)[...]
        )
    }

    static let eventColumns = "at, event, details"

    /// The event of a row of ``eventColumns``.
    static func event(_ row: Statement) -> TimelineRecord {
        TimelineRecord(at: row.moment(0), event: row.text(1), details: row.text(2))
    }

    static let deviceColumns = """
        user, id, is_named, platform, bundle_id, voip_token, voip_token_at, alert_token, alert_token_at, fcm_token, \
        environment, working_environment, created_at, seen_at, unanswered_pushes, push_at, push_status, push_reason, \
        push_environment, push_hint
        """

    /// The device of a row of ``deviceColumns``.
    static func device(_ row: Statement) throws(Unreadable) -> DeviceRecord {
        guard let user = UserID(row.text(0)), let id = DeviceID(row.text(1)),
            let environment = row.word(10, APNsEnvironment.init(rawValue:)),
            let working = row.word(11, APNsEnvironment.init(rawValue:)),
            let pushed = row.word(18, APNsEnvironment.init(rawValue:))
        else { throw Unreadable(row: "device \(row.text(1)) of user \(row.text(0))") }
        var device = DeviceRecord(
            user: user,
            id: id,
            isNamed: row.int64(2) != 0,
            platform: row.text(3),
            bundleID: row.text(4),
            createdAt: row.moment(12)
        )
        device.voipToken = row.optionalText(5)
        device.voipTokenAt = row.optionalMoment(6)
        device.alertToken = row.optionalText(7)
        device.alertTokenAt = row.optionalMoment(8)
        device.fcmToken = row.optionalText(9)
        device.environment = environment.value
        device.workingEnvironment = working.value
        device.seenAt = row.moment(13)
        device.unansweredPushes = Int(row.int64(14))
        if let at = row.optionalMoment(15), let environment = pushed.value {
            device.lastPush = DeviceRecord.LastPush(
                at: at,
                status: Int(row.int64(16)),
                reason: row.optionalText(17),
                environment: environment,
                hint: row.optionalText(19)
            )
        }
        return device
    }

    /// A row that does not say what it must.
    struct Unreadable: Error {
        let row: String
    }

    /// A word that may be NULL.
    struct Word<Value> {
        let value: Value?
    }
}

extension Statement {
    /// A column as a moment.
    func moment(_ column: Int32) -> Moment { Moment(milliseconds: int64(column)) }

    /// A column as a moment, `nil` for NULL.
    func optionalMoment(_ column: Int32) -> Moment? { optionalInt64(column).map(Moment.init(milliseconds:)) }

    /// A column in a vocabulary: a word without value for NULL, `nil` for what is not in the vocabulary.
    func word<Value>(_ column: Int32, _ parse: (String) -> Value?) -> RowReader.Word<Value>? {
        guard let text = optionalText(column) else { return RowReader.Word(value: nil) }
        return parse(text).map { RowReader.Word(value: $0) }
    }
}
