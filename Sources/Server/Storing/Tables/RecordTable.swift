import CallCore
import CallPorts

/// The columns of a table, each described once: how its value is written, and how it is read and checked.
///
/// The stores derive their statements from it, and the tests their impossible values. A column is added at the end, and
/// by a migration to the schema of each database.
package struct RecordTable<Record>: Sendable {
    /// The name of the table.
    package let name: String
    /// The columns, in the order of the statements; the first ones are the primary key.
    package let columns: [Column]
    /// The number of columns of the primary key.
    package let keyCount: Int
    /// The positions of the primary key, by which damages name a row.
    private let key: [Int32]
    /// Creates a record from the columns that it cannot be without.
    private let make: @Sendable (CheckedRow) -> Record?

    init(
        _ name: String,
        key keyCount: Int,
        _ columns: [Column],
        make: @escaping @Sendable (CheckedRow) -> Record?
    ) {
        self.name = name
        self.columns = columns
        self.keyCount = keyCount
        self.make = make
        key = (0..<Int32(keyCount)).map { $0 }
    }

    /// Returns the values of a record, in the order of ``columns``.
    package func values(_ record: Record) -> [SQLValue] { columns.map { $0.value(record) } }

    /// Returns the record in a row of all columns; `nil` if the row is damaged so that it is left out.
    func record(_ row: any StoredRow, _ damages: DamageLog) -> Record? {
        let row = CheckedRow(row: row, table: name, key: key, damages: damages)
        guard var record = make(row) else { return nil }
        var index: Int32 = 0
        for column in columns {
            if let read = column.read, !read(&record, row, index) { return nil }
            index += 1
        }
        return record
    }

    /// One column.
    package struct Column: Sendable {
        /// The column's name.
        package let name: String
        /// The kind of its values.
        package let kind: SQLValue.Kind
        /// Returns the value to write.
        let value: @Sendable (Record) -> SQLValue
        /// Puts the checked value of a row into a record, and returns `false` if the row is left out; `nil` if `make`
        /// or an earlier column reads the value.
        let read: (@Sendable (inout Record, CheckedRow, Int32) -> Bool)?

        /// The column's name in a statement: PostgreSQL reserves the word `user`.
        package var quotedName: String { name == "user" ? "\"user\"" : name }
    }
}

extension RecordTable.Column {
    /// An integer of its own range.
    static func integer(
        _ name: String,
        _ value: @escaping @Sendable (Record) -> Int64?,
        _ read: @escaping @Sendable (inout Record, CheckedRow, Int32) -> Void
    ) -> Self {
        Self(name: name, kind: .integer, value: { .integer(value($0)) }) {
            read(&$0, $1, $2)
            return true
        }
    }

    /// A moment that may be NULL.
    static func moment(
        _ name: String,
        _ value: @escaping @Sendable (Record) -> Moment?,
        _ set: @escaping @Sendable (inout Record, Moment?) -> Void
    ) -> Self {
        .integer(name, { value($0)?.milliseconds }) { set(&$0, $1.optionalMoment($2)) }
    }

    /// A truth value.
    static func flag(
        _ name: String,
        _ value: @escaping @Sendable (Record) -> Bool,
        _ set: @escaping @Sendable (inout Record, Bool) -> Void
    ) -> Self {
        Self(name: name, kind: .flag, value: { .flag(value($0)) }) {
            set(&$0, $1.row.int64($2) != 0)
            return true
        }
    }

    /// A text without U+0000 that may be NULL; without `set`, `make` reads it.
    static func word(
        _ name: String,
        _ value: @escaping @Sendable (Record) -> String?,
        _ set: (@Sendable (inout Record, String?) -> Void)? = nil
    ) -> Self {
        Self(name: name, kind: .word, value: { .word(value($0)) }, read: text(set))
    }

    /// A word of a fixed vocabulary, or NULL; a row with any other word is left out.
    static func word<Word: RawRepresentable<String> & SendableMetatype>(
        _ name: String,
        of type: Word.Type,
        _ value: @escaping @Sendable (Record) -> Word?,
        _ set: @escaping @Sendable (inout Record, Word?) -> Void
    ) -> Self {
        Self(name: name, kind: .word, value: { .word(value($0)?.rawValue) }) { record, row, column in
            guard let word = row.word(column, Word.init(rawValue:)) else { return false }
            set(&record, word.value)
            return true
        }
    }

    /// A text that clients choose freely, or NULL; without `set`, an earlier column reads it.
    static func free(
        _ name: String,
        _ value: @escaping @Sendable (Record) -> String?,
        _ set: (@Sendable (inout Record, String?) -> Void)? = nil
    ) -> Self {
        Self(name: name, kind: .free, value: { .free(value($0)) }, read: text(set))
    }

    private static func text(
        _ set: (@Sendable (inout Record, String?) -> Void)?
    ) -> (@Sendable (inout Record, CheckedRow, Int32) -> Bool)? {
        guard let set else { return nil }
        return { record, row, column in
            set(&record, row.row.optionalText(column))
            return true
        }
    }
}
