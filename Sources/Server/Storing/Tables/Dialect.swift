/// The text of a statement and its name, with `?1` or `$1` as parameters.
package struct SQLText: Sendable {
    /// The purpose in a few words, unique among the statements of a database.
    package let name: String
    /// The text.
    package let text: String

    /// A statement whose text is in the database's own dialect.
    package init(name: String, text: String) {
        self.name = name
        self.text = text
    }
}

/// What the SQL of two databases differs in.
package struct Dialect: Sendable {
    /// The first character of a parameter's name, whose number follows.
    let parameter: Character
    /// Whether `INSERT OR REPLACE` writes a row (SQLite); otherwise `ON CONFLICT` does.
    let replacesRows: Bool
    /// The function that returns the greatest of its arguments.
    package let greatest: String
    /// The function that returns the position of a text in another one, from 1; 0 = it is not in it.
    let position: String
    /// The condition that a call's log is stored, as the index `call_with_log` has it.
    package let hasLog: String
    /// The condition that the column `legs` contains `LegText.uninformed`.
    let hasUninformedLegs: String

    /// A dialect with the given members.
    package init(
        parameter: Character,
        replacesRows: Bool,
        greatest: String,
        position: String,
        hasLog: String,
        hasUninformedLegs: String
    ) {
        self.parameter = parameter
        self.replacesRows = replacesRows
        self.greatest = greatest
        self.position = position
        self.hasLog = hasLog
        self.hasUninformedLegs = hasUninformedLegs
    }

    /// Returns a table in `FROM`, with the index that SQLite must take; PostgreSQL chooses by the number of its rows.
    func table(_ name: String, by index: String) -> String { replacesRows ? "\(name) INDEXED BY \(index)" : name }

    /// Returns a statement whose text is written with `$1`, `$2` … as parameters.
    package func statement(_ name: String, _ text: String) -> SQLText {
        SQLText(name: name, text: parameter == "$" ? text : String(text.map { $0 == "$" ? parameter : $0 }))
    }
}

/// The statements of a table.
package struct TableStatements: Sendable {
    /// Writes a row of all columns, in the place of the row with the same key.
    package let write: SQLText
    /// Removes the row with a key.
    package let remove: SQLText
    /// Reads all rows in the order of the key.
    package let all: SQLText
    /// Reads the rows whose key begins with one value, in the order of the key.
    package let ofOwner: SQLText

    /// The statements of a table in a dialect.
    package init<Record>(of table: RecordTable<Record>, _ dialect: Dialect) {
        let names = table.columns.map(\.quotedName)
        let (key, rest) = (names.prefix(table.keyCount), names.dropFirst(table.keyCount))
        let (columns, keyColumns) = (names.joined(separator: ", "), key.joined(separator: ", "))
        let values = (1...names.count).map { "$\($0)" }.joined(separator: ", ")
        let updates = rest.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        let condition = key.enumerated().map { "\($1) = $\($0 + 1)" }.joined(separator: " AND ")
        let insert = "INTO \(table.name) (\(columns)) VALUES (\(values))"
        write = dialect.statement(
            "write \(table.name)",
            dialect.replacesRows
                ? "INSERT OR REPLACE \(insert)"
                : "INSERT \(insert) ON CONFLICT (\(keyColumns)) DO UPDATE SET \(updates)"
        )
        remove = dialect.statement("remove \(table.name)", "DELETE FROM \(table.name) WHERE \(condition)")
        let rows = "SELECT \(columns) FROM \(table.name)"
        all = dialect.statement("all of \(table.name)", "\(rows) ORDER BY \(keyColumns)")
        ofOwner = dialect.statement("some of \(table.name)", "\(rows) WHERE \(key[0]) = $1 ORDER BY \(keyColumns)")
    }
}
