import CallCore
import CallPorts

/// A row whose values are checked before any code computes with them.
///
/// All integers that have a range, and all words, are read through this type, except the counters in `meta`, which
/// each store checks when it is opened.
///
/// An impossible moment or count is replaced by the nearest possible one. A row is left out if a number, an id or a
/// word that it needs is unusable. Both cases are recorded in `damages`.
///
/// It is not generic over the row: its own generic functions are then made for the types of this module's records, and
/// not looked up for each value, which took a sixth of a start.
struct CheckedRow {
    let row: any StoredRow
    let table: String
    /// The columns that identify a row.
    let key: [Int32]
    let damages: DamageLog

    /// Returns a column as a moment.
    func moment(_ column: Int32, in range: ClosedRange<Int64> = StorableRange.moments) -> Moment {
        Moment(milliseconds: replacing(row.int64(column), at: column, by: range))
    }

    /// Returns a column as a moment; `nil` for NULL.
    func optionalMoment(_ column: Int32) -> Moment? { row.isNull(column) ? nil : moment(column) }

    /// Returns a column as a count.
    func count(_ column: Int32, in range: ClosedRange<Int64> = StorableRange.counts) -> Int {
        Int(replacing(row.int64(column), at: column, by: range))
    }

    /// Returns a column as a number without which the row is useless; `nil` if it is impossible.
    func number(_ column: Int32, in range: ClosedRange<Int64> = StorableRange.numbers) -> Int64? {
        let value = row.int64(column)
        if range.contains(value) { return value }
        recordDamage(column, .leftOut)
        return nil
    }

    /// Returns a column as a value without which the row is useless; `nil` if it cannot be parsed.
    func value<Value>(_ column: Int32, _ parse: (String) -> Value?) -> Value? {
        if let value = parse(row.text(column)) { return value }
        recordDamage(column, .leftOut)
        return nil
    }

    /// Returns a column as a word of a fixed vocabulary.
    ///
    /// NULL gives a word without a value, and an unknown word gives `nil`.
    func word<Value>(_ column: Int32, _ parse: (String) -> Value?) -> Word<Value>? {
        row.isNull(column) ? Word(value: nil) : value(column, parse).map { Word(value: $0) }
    }

    /// A word that may be NULL.
    struct Word<Value> {
        let value: Value?
    }

    private func replacing(_ value: Int64, at column: Int32, by range: ClosedRange<Int64>) -> Int64 {
        if range.contains(value) { return value }
        recordDamage(column, .replaced)
        return min(max(value, range.lowerBound), range.upperBound)
    }

    func recordDamage(_ column: Int32, _ remedy: DamagedValue.Remedy) {
        // A damaged key may be long; its beginning is enough to identify the row.
        let name = key.map { String(row.text($0).prefix(128)) }.joined(separator: " ")
        damages.record(DamagedValue(table: table, column: row.columnName(column), row: name, remedy: remedy))
    }
}
