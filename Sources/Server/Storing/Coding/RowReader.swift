package import CallCore
package import CallPorts

/// Creates records from rows.
///
/// A row that cannot be read gives `nil` and is recorded in the `DamageLog`.
package struct RowReader {
    let damages: DamageLog

    /// Creates a reader that records impossible values in a log.
    package init(damages: DamageLog) { self.damages = damages }

    /// The columns of a call, in the order in which ``call(_:)`` reads them.
    package static let callColumns = """
        number, id, epoch, room, caller, callee, display_name, has_video, started_at, ring_until, answered_at, \
        active_at, ended_at, reason, replaced_by, hidden, legs, state, schedule
        """

    /// Returns the call in a row of ``callColumns``.
    package func call(_ statement: any StoredRow) -> CallRecord? {
        let row = CheckedRow(row: statement, table: "call", key: [0], damages: damages)
        guard let number = row.number(0), let id = row.value(1, CallID.init),
            let epoch = row.number(2, in: StorableRange.epochs), let caller = row.value(4, UserID.init),
            let callee = row.value(5, UserID.init), let legs = row.value(16, LegText.decode),
            let reason = row.word(13, EndReason.init(rawValue:)), let replacedBy = row.word(14, CallID.init),
            let hidden = row.word(15, CallRecord.Hidden.init(rawValue:)), let schedule = row.word(18, ScheduleID.init)
        else { return nil }
        var record = CallRecord(
            number: CallNumber(rawValue: number),
            id: id,
            epoch: UInt32(epoch),
            room: statement.text(3),
            caller: caller,
            callee: callee,
            displayName: statement.optionalText(6),
            hasVideo: statement.int64(7) != 0,
            startedAt: row.moment(8),
            ringUntil: row.moment(9),
            answeredAt: row.optionalMoment(10),
            activeAt: row.optionalMoment(11),
            endedAt: row.optionalMoment(12),
            reason: reason.value,
            replacedBy: replacedBy.value,
            hidden: hidden.value,
            legs: legs
        )
        if let schedule = schedule.value {
            // The moment and the number are in the column `state`.
            record.scheduled = ScheduledRing(schedule: schedule, occurrence: record.startedAt, ring: 1)
            record.session.scheduled = .once
        }
        return row.value(17) { [record] in record.with(stateText: $0) }
    }

    /// The columns of an entry, in the order in which ``entry(_:)`` reads them.
    package static let entryColumns = "call, seq, at, kind, device, mark, audience, signal_id, digest, object"

    /// Returns the entry in a row of ``entryColumns``.
    package func entry(_ statement: any StoredRow) -> EntryRecord? {
        let row = CheckedRow(row: statement, table: "entry", key: [0, 1], damages: damages)
        guard let seq = row.number(1), let device = row.word(4, DeviceID.init) else { return nil }
        let fingerprint = TokenFingerprint(rawValue: UInt64(bitPattern: statement.int64(5)))
        let moment = row.moment(2)
        let columns = EntryColumns(
            kind: statement.text(3),
            sender: device.value.map { DeviceIdentity(id: $0, fingerprint: fingerprint) },
            audience: statement.text(6),
            signalID: statement.optionalText(7),
            digest: UInt64(bitPattern: statement.int64(8))
        )
        guard let entry = row.value(6, { _ in columns.entry(seq: UInt64(seq), at: moment) }) else { return nil }
        return EntryRecord(entry, object: statement.bytes(9)[...])
    }

    /// The columns of an event, in the order in which ``event(_:)`` reads them.
    package static let eventColumns = "at, event, details, call"

    /// Returns the event in a row of ``eventColumns``.
    package func event(_ statement: any StoredRow) -> TimelineRecord {
        let row = CheckedRow(row: statement, table: "event", key: [3, 1], damages: damages)
        return TimelineRecord(
            at: row.moment(0),
            event: TimelineEvent(name: statement.text(1), details: statement.text(2))
        )
    }

    /// Returns the record in a row of all columns of a table; `nil` if the row is left out.
    package func record<Record>(_ table: RecordTable<Record>, _ row: any StoredRow) -> Record? {
        table.record(row, damages)
    }

    /// The query whose row ``kinds(_:)`` reads: for each kind of push, whether a device has a token.
    package static let registeredKinds =
        "SELECT "
        + PushKind.allCases.map { kind in
            let column = Tables.tokenColumn(of: kind)
            return "(SELECT count(*) FROM (SELECT 1 FROM device WHERE \(column) IS NOT NULL LIMIT 1) AS one)"
        }.joined(separator: ", ")

    /// Returns the kinds of push of the row of ``registeredKinds``.
    package static func kinds(_ row: any StoredRow) -> Set<PushKind> {
        Set(PushKind.allCases.enumerated().filter { row.int64(Int32($0.offset)) > 0 }.map(\.element))
    }

    /// Returns the number in a row `number, label, version, removed_at`.
    package func number(_ statement: any StoredRow) -> NumberRow? {
        let row = CheckedRow(row: statement, table: "directory", key: [0], damages: damages)
        guard let number = row.number(0, in: 1...PhoneNumber.maximum).flatMap(PhoneNumber.init(rawValue:)),
            // A line break in a label would make two lines of one.
            let label = row.word(1, { $0.utf8.contains { $0 < 0x20 } ? nil : $0 })
        else { return nil }
        return NumberRow(
            number: number,
            label: label.value,
            version: statement.int64(2),
            removedAt: row.optionalMoment(3)
        )
    }

    /// Returns the user and the number in a row `owner, number` of a blocked number.
    package func blockedNumber(_ statement: any StoredRow) -> (UserID, PhoneNumber)? {
        let row = CheckedRow(row: statement, table: "directory", key: [0, 1], damages: damages)
        guard let user = row.value(0, UserID.init),
            let number = row.number(1, in: 1...PhoneNumber.maximum).flatMap(PhoneNumber.init(rawValue:))
        else { return nil }
        return (user, number)
    }

    /// The query whose row ``numberState(_:)`` reads.
    package static let numberState = """
        SELECT coalesce((SELECT value FROM meta WHERE name = 'directory_version'), 0),
            coalesce((SELECT value FROM meta WHERE name = 'directory_oldest'), 0),
            coalesce((SELECT value FROM meta WHERE name = 'directory_numbers'), 0)
        """

    /// Returns the counters of the call directory in the row of ``numberState``; an impossible one counts as 0.
    package static func numberState(_ row: any StoredRow) -> NumberState {
        let values = (0...2).map { column in
            let value = row.int64(Int32(column))
            return StorableRange.numbers.contains(value) ? value : 0
        }
        return NumberState(version: values[0], oldest: values[1], count: Int(values[2]))
    }

    /// The columns of an ended call, in the order in which ``endedCall(_:)`` reads them.
    ///
    /// `legs`: An expression for the text of the legs; it may be `NULL` if all their devices know of the end.
    package static func endedColumns(legs: String) -> String {
        "number, id, epoch, caller, callee, ended_at, hidden, schedule, \(legs) AS legs"
    }

    /// Returns the ended call in a row of ``endedColumns(legs:)``.
    ///
    /// Values that are not in these columns are checked when the call is read.
    package func endedCall(_ statement: any StoredRow) -> EndedCall? {
        let row = CheckedRow(row: statement, table: "call", key: [0], damages: damages)
        guard let number = row.number(0), let id = row.value(1, CallID.init),
            let epoch = row.number(2, in: StorableRange.epochs), let caller = row.value(3, UserID.init),
            let callee = row.value(4, UserID.init),
            let hidden = row.word(6, CallRecord.Hidden.init(rawValue:)),
            let schedule = row.word(7, ScheduleID.init), let legs = row.word(8, LegText.decode)
        else { return nil }
        let identity = CallIdentity(
            number: CallNumber(rawValue: number),
            key: CallKey(id: id, pair: Pair(caller, callee)),
            epoch: UInt32(epoch),
            caller: caller,
            isHidden: hidden.value != nil,
            scheduled: schedule.value.map { _ in .once }
        )
        let uninformed = EndedCall.uninformed(legs.value ?? [])
        return EndedCall(identity, endedAt: row.moment(5), uninformed: uninformed)
    }
}
