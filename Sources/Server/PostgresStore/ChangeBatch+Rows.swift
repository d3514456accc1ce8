import CallCore
import CallPorts
import Postgres
import Storing

/// The records of calls that one statement writes; if a call has several records, the statement writes the last one.
struct CallRows {
    private var records: [CallRecord] = []
    /// The index in `records` of each call.
    private var indexes: [CallNumber: Int] = [:]

    mutating func append(_ call: CallRecord) {
        if let index = indexes[call.number] {
            records[index] = call
        } else {
            indexes[call.number] = records.count
            records.append(call)
        }
    }

    /// Returns the statement, and begins a new one; `nil` if there is nothing to write.
    mutating func makeStep() -> Connection.Step? {
        guard !records.isEmpty else { return nil }
        var numbers = (0..<7).map { _ in Column<Int64>() }
        var texts = (0..<7).map { _ in Column<String>() }
        var bytes = (0..<4).map { _ in Column<ArraySlice<UInt8>>() }
        var videos = Column<Bool>()
        for call in records {
            let moments = [
                call.startedAt, call.ringUntil, call.answeredAt, call.activeAt, call.endedAt,
            ]
            numbers[0].append(call.number.rawValue)
            numbers[1].append(Int64(call.epoch))
            for (index, moment) in moments.enumerated() { numbers[index + 2].append(moment?.milliseconds) }
            let words = [
                call.id.storedText, call.caller.text, call.callee.text, call.reason?.rawValue, call.replacedBy?.text,
                call.hidden?.rawValue, call.scheduled?.schedule.text,
            ]
            for (index, word) in words.enumerated() { texts[index].append(word) }
            let free = [call.room, call.displayName, LegText.encode(call.legs), call.stateText]
            for (index, text) in free.enumerated() { bytes[index].append(bytesOf: text) }
            videos.append(call.hasVideo)
        }
        self = CallRows()
        var parameters = Parameters()
        for column in numbers { parameters.add(column) }
        for column in texts { parameters.add(column) }
        for column in bytes { parameters.add(column) }
        parameters.add(videos)
        return Connection.Step(Self.upsert, parameters)
    }

    /// Writes every column but `log_kept`: a call whose log was deleted may still change, and its log stays deleted.
    private static let upsert: SQL = {
        let columns = [
            "number", "epoch", "started_at", "ring_until", "answered_at", "active_at", "ended_at", "id", "caller",
            "callee", "reason", "replaced_by", "hidden", "schedule", "room", "display_name", "legs", "state",
            "has_video",
        ]
        let values = (1...columns.count).map { "$\($0)" }.joined(separator: ", ")
        let updates = columns.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        return SQL(
            "write calls",
            """
            INSERT INTO call (\(columns.joined(separator: ", "))) SELECT * FROM unnest(\(values))
            ON CONFLICT (number) DO UPDATE SET \(updates)
            """
        )
    }()
}

/// The log entries that one statement writes.
struct EntryRows {
    private struct Key: Hashable {
        let call: CallNumber
        let seq: UInt64
    }

    private var keys: Set<Key> = []
    private var calls = Column<Int64>()
    private var numbers = Column<Int64>()
    private var moments = Column<Int64>()
    private var fingerprints = Column<Int64>()
    private var digests = Column<Int64>()
    private var kinds = Column<String>()
    private var devices = Column<String>()
    private var audiences = Column<String>()
    private var ids = Column<ArraySlice<UInt8>>()
    private var objects = Column<ArraySlice<UInt8>>()

    /// Appends an entry.
    /// - Returns: `false` if the statement writes this entry already, so that it was not appended.
    mutating func append(_ entry: EntryRecord, of call: CallNumber) -> Bool {
        guard keys.insert(Key(call: call, seq: entry.seq)).inserted else { return false }
        let columns = EntryColumns(entry.entry)
        calls.append(call.rawValue)
        numbers.append(Int64(bitPattern: entry.seq))
        moments.append(entry.entry.at.milliseconds)
        fingerprints.append((columns.sender?.fingerprint.rawValue).map { Int64(bitPattern: $0) })
        digests.append(Int64(bitPattern: columns.digest))
        kinds.append(columns.kind)
        devices.append(columns.sender?.id.text)
        audiences.append(columns.audience)
        ids.append(bytesOf: columns.signalID)
        objects.append(entry.object)
        return true
    }

    /// Returns the statement, and begins a new one; `nil` if there is nothing to write.
    mutating func makeStep() -> Connection.Step? {
        guard !keys.isEmpty else { return nil }
        var parameters = Parameters()
        for column in [calls, numbers, moments, fingerprints, digests] { parameters.add(column) }
        for column in [kinds, devices, audiences] { parameters.add(column) }
        parameters.add(ids)
        parameters.add(objects)
        self = EntryRows()
        return Connection.Step(Self.insert, parameters)
    }

    private static let insert = SQL(
        "insert entries",
        """
        INSERT INTO entry (call, seq, at, mark, digest, kind, device, audience, signal_id, object)
        SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (call, seq) DO UPDATE SET at = excluded.at, mark = excluded.mark, digest = excluded.digest,
            kind = excluded.kind, device = excluded.device, audience = excluded.audience,
            signal_id = excluded.signal_id, object = excluded.object
        """
    )
}

/// The timeline events that one statement writes, in the order in which they were appended.
struct EventRows {
    private var calls = Column<Int64>()
    private var moments = Column<Int64>()
    private var names = Column<String>()
    private var details = Column<ArraySlice<UInt8>>()

    mutating func append(_ event: TimelineRecord, of call: CallNumber) {
        calls.append(call.rawValue)
        moments.append(event.at.milliseconds)
        names.append(event.event.name)
        details.append(bytesOf: event.event.details)
    }

    /// Returns the statement, and begins a new one; `nil` if there is nothing to write.
    mutating func makeStep() -> Connection.Step? {
        guard calls.count > 0 else { return nil }
        var parameters = Parameters()
        parameters.add(calls)
        parameters.add(moments)
        parameters.add(names)
        parameters.add(details)
        self = EventRows()
        return Connection.Step(Self.insert, parameters)
    }

    private static let insert = SQL(
        "insert events",
        "INSERT INTO event (call, at, event, details) SELECT * FROM unnest($1, $2, $3, $4)"
    )
}
