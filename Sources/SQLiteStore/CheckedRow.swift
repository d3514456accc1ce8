import CallCore
import SQLite
import Switchboard

/// A row whose values are looked at before anybody computes with them: the one place where integers and words come in.
///
/// A moment or a count that cannot be is replaced by the nearest that can; a row without the number, the name or the word
/// that it needs is left out. Both are noted.
struct CheckedRow {
    let row: Statement
    let table: String
    /// The columns that a row is known by.
    let key: [Int32]
    let damages: DamageLog

    /// A column as a moment.
    func moment(_ column: Int32, in range: ClosedRange<Int64> = KeptRange.moments) -> Moment {
        Moment(milliseconds: replacing(row.int64(column), at: column, by: range))
    }

    /// A column as a moment, `nil` for NULL.
    func optionalMoment(_ column: Int32) -> Moment? { row.isNull(column) ? nil : moment(column) }

    /// A column as a count.
    func count(_ column: Int32, in range: ClosedRange<Int64> = KeptRange.counts) -> Int {
        Int(replacing(row.int64(column), at: column, by: range))
    }

    /// A column as a number that its row cannot do without.
    func number(_ column: Int32, in range: ClosedRange<Int64> = KeptRange.numbers) -> Int64? {
        let value = row.int64(column)
        if range.contains(value) { return value }
        note(column, .leftOut)
        return nil
    }

    /// A column as what its row cannot do without.
    func value<Value>(_ column: Int32, _ parse: (String) -> Value?) -> Value? {
        if let value = parse(row.text(column)) { return value }
        note(column, .leftOut)
        return nil
    }

    /// A column in a vocabulary: a word without value for NULL, `nil` for what is not in the vocabulary.
    func word<Value>(_ column: Int32, _ parse: (String) -> Value?) -> Word<Value>? {
        row.isNull(column) ? Word(value: nil) : value(column, parse).map { Word(value: $0) }
    }

    /// A word that may be NULL.
    struct Word<Value> {
        let value: Value?
    }

    private func replacing(_ value: Int64, at column: Int32, by range: ClosedRange<Int64>) -> Int64 {
        if range.contains(value) { return value }
        note(column, .replaced)
        return min(max(value, range.lowerBound), range.upperBound)
    }

    private func note(_ column: Int32, _ remedy: DamagedValue.Remedy) {
        // A key that is no id may be long: its beginning names the row.
        let name = key.map { String(row.text($0).prefix(128)) }.joined(separator: " ")
        damages.note(DamagedValue(table: table, column: row.columnName(column), row: name, remedy: remedy))
    }
}
