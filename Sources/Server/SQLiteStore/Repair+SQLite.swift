import CallCore
import CallPorts
import SQLite
import Storing

extension Repair<Connection> {
    /// Repairs the impossible values in one transaction.
    static func run(on connection: Connection, damages: DamageLog, now: Moment) throws(SQLiteError) {
        try connection.transaction { () throws(SQLiteError) in
            for step in try Repair(connection, damages: damages, now: now).find() {
                try connection.statement(step.text, step.values).run()
            }
            try repairOrder(on: connection, damages)
        }
    }

    /// Repairs positions of events.
    ///
    /// Once an event has the highest possible rowid, SQLite gives new events random rowids, and timelines lose their
    /// order.
    private static func repairOrder(on connection: Connection, _ damages: DamageLog) throws(SQLiteError) {
        let last = StorableRange.numbers.upperBound
        let find = "SELECT position FROM event WHERE position > \(last) ORDER BY position"
        var positions: [Int64] = []
        try connection.read(SQLText(name: "damaged positions", text: find), []) { positions.append($0.int64(0)) }
        let mend = """
            UPDATE event SET position = 1 + coalesce((SELECT max(position) FROM event WHERE position <= \(last)), 0)
            WHERE position = ?1
            """
        for position in positions {
            damages.record(DamagedValue(table: "event", column: "position", row: "\(position)", remedy: .replaced))
            try connection.statement(SQLText(name: "mend order", text: mend), [.integer(position)]).run()
        }
    }
}
