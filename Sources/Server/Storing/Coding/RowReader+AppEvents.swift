import CallCore
package import CallPorts
import CallWire
import JSON

extension RowReader {
    /// The columns of an event for the app's backend, in the order in which ``appEvent(_:from:)`` reads them.
    package static let appEventColumns = appEventNames.joined(separator: ", ")

    /// The names of ``appEventColumns``; PostgreSQL reserves the word `user`.
    static let appEventNames = ["position", "incarnation", "at", "type", "call", "number", "\"user\"", "data"]

    /// Returns the event in a row of ``appEventColumns``, whose first column is `first`; `nil` if it is left out.
    package func appEvent(_ statement: any StoredRow, from first: Int32 = 0) -> AppEvent? {
        let row = CheckedRow(row: statement, table: "app_event", key: [first], damages: damages)
        let numbers = 0...Int64(UInt32.max)
        guard let position = row.number(first), let incarnation = row.number(first + 1, in: numbers),
            let type = row.value(first + 3, AppEventType.init(rawValue:)),
            let number = row.number(first + 5, in: numbers), let user = row.word(first + 6, UserID.init)
        else { return nil }
        var call: CallNumber?
        if !statement.isNull(first + 4) {
            guard let found = row.number(first + 4) else { return nil }
            call = CallNumber(rawValue: found)
        }
        let data = statement.bytes(first + 7)
        // The data is a member of the JSON that is delivered, so a fault in it would be one of the whole.
        guard (try? JSONObject(data)) != nil else {  // the kind of the fault does not matter
            row.recordDamage(first + 7, .leftOut)
            return nil
        }
        return AppEvent(
            position: EventPosition(rawValue: position),
            incarnation: EventIncarnation(rawValue: UInt32(incarnation)),
            at: row.moment(first + 2),
            type: type,
            call: call,
            number: UInt32(number),
            user: user.value,
            data: data
        )
    }

    /// The query whose row ``storedEvents(_:)`` reads.
    package static let storedEvents = """
        SELECT coalesce((SELECT value FROM meta WHERE name = 'event_incarnation'), \(EventIncarnation.first.rawValue)),
            coalesce((\(newestAppEvent)), 0)
        """

    /// Returns the incarnation and the newest position in the row of ``storedEvents``; an impossible incarnation counts
    /// as the first.
    package static func storedEvents(_ row: any StoredRow) -> StoredEvents {
        var stored = StoredEvents()
        if let number = UInt32(exactly: row.int64(0)) { stored.incarnation = EventIncarnation(rawValue: number) }
        stored.newest = EventPosition(rawValue: max(0, row.int64(1)))
        return stored
    }

    /// Selects the position of the newest event; the primary key finds it.
    static let newestAppEvent =
        "SELECT max(position) FROM app_event WHERE position <= \(StorableRange.numbers.upperBound)"
}
