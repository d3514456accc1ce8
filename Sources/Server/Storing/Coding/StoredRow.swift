/// A row of a statement's result, from which ``RowReader`` reads a record; columns count from 0.
///
/// Each store makes the row of its database library conform, so that the same code reads the records of all stores.
package protocol StoredRow {
    /// Returns whether a column is NULL.
    func isNull(_ column: Int32) -> Bool
    /// Returns a column as an integer; 0 for NULL.
    func int64(_ column: Int32) -> Int64
    /// Returns a column as text, and an integer as decimal digits; empty for NULL.
    func text(_ column: Int32) -> String
    /// Returns a column as bytes; empty for NULL.
    func bytes(_ column: Int32) -> [UInt8]
    /// Returns a column's name in the result.
    func columnName(_ column: Int32) -> String
}

extension StoredRow {
    /// Returns a column as text; `nil` for NULL.
    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
}
