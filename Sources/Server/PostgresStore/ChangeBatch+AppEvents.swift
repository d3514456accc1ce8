import CallCore
import CallPorts
import Postgres
import Storing

/// The events for the app's backend that one statement writes, in the order of their positions.
struct AppEventRows {
    private var positions: Set<EventPosition> = []
    /// The integers: position, incarnation, moment, call, number, and the sum of the bytes up to the event.
    private var numbers = (0..<6).map { _ in Column<Int64>() }
    private var types = Column<String>()
    private var users = Column<String>()
    private var objects = Column<ArraySlice<UInt8>>()
    private var bytes: Int64 = 0

    mutating func append(_ event: AppEvent) {
        // An event never changes, and PostgreSQL refuses a statement that writes the same row twice.
        guard positions.insert(event.position).inserted else { return }
        bytes += Int64(event.byteCount)
        let values = [
            event.position.rawValue, Int64(event.incarnation.rawValue), event.at.milliseconds, event.call?.rawValue,
            Int64(event.number), bytes,
        ]
        for (index, value) in values.enumerated() { numbers[index].append(value) }
        types.append(event.type.rawValue)
        users.append(event.user?.text)
        objects.append(event.data[...])
    }

    /// Returns the statement, and begins a new one; `nil` if there is nothing to write.
    mutating func makeStep() -> Connection.Step? {
        guard !positions.isEmpty else { return nil }
        var parameters = Parameters()
        for column in numbers { parameters.add(column) }
        parameters.add(types)
        parameters.add(users)
        parameters.add(objects)
        self = AppEventRows()
        return Connection.Step(Self.insert, parameters)
    }

    private static let insert = SQL(
        "insert app events",
        """
        INSERT INTO app_event (position, incarnation, at, call, number, total, type, "user", data)
        SELECT added.position, added.incarnation, added.at, added.call, added.number, added.bytes + coalesce((
                SELECT total FROM app_event WHERE position <= \(AppEventStatements.last)
                ORDER BY position DESC LIMIT 1), 0), added.type, added.user_id, added.data
        FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
            AS added (position, incarnation, at, call, number, bytes, type, user_id, data)
        ON CONFLICT (position) DO NOTHING
        """
    )
}
