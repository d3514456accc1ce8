import CallCore
import CallPorts
import SQLite
import Storing

/// Events for the app's backend.
extension ChangeWriter {
    func write(_ event: AppEvent) throws(SQLiteError) {
        let statement = try connection.statement(Self.insertAppEvent)
        try statement.bind(event.position.rawValue, at: 1)
        try statement.bind(Int64(event.incarnation.rawValue), at: 2)
        try statement.bind(event.at.milliseconds, at: 3)
        try statement.bind(event.type.rawValue, at: 4)
        try statement.bind(event.call?.rawValue, at: 5)
        try statement.bind(Int64(event.number), at: 6)
        try statement.bind(event.user?.text, at: 7)
        try statement.bind(Int64(event.byteCount), at: 9)
        try statement.run(borrowing: event.data[...], at: 8)
    }

    /// An event never changes, so the first one at a position stays.
    private static let insertAppEvent = SQL(
        "insert app event",
        """
        INSERT INTO app_event (\(RowReader.appEventColumns), total)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 + coalesce((
            SELECT total FROM app_event WHERE position <= \(AppEventStatements.last) ORDER BY position DESC LIMIT 1), 0))
        ON CONFLICT (position) DO NOTHING
        """
    )
}
