import CPostgres

/// The result of a statement: its rows, in binary format.
package final class Rows {
    private let result: OpaquePointer

    /// Takes over a result of libpq, and clears it when it is released.
    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    /// The number of rows.
    package var count: Int { Int(PQntuples(result)) }

    /// The number of rows that the statement inserted, updated or deleted (`PQcmdTuples`).
    package var changes: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// Returns the row at an index, from 0.
    package subscript(_ index: Int) -> Row { Row(rows: self, index: Int32(index)) }

    /// Calls `body` with each row.
    package func each(_ body: (Row) -> Void) { for index in 0..<count { body(self[index]) } }

    /// The first row, if there is one.
    package var first: Row? { count > 0 ? self[0] : nil }

    /// A row; columns count from 0.
    ///
    /// A column that the result does not have reads like NULL. A type is not checked: a column must be read as the type
    /// that it has.
    package struct Row {
        fileprivate let rows: Rows
        fileprivate let index: Int32

        /// Returns whether a column is NULL.
        package func isNull(_ column: Int32) -> Bool { PQgetisnull(rows.result, index, column) != 0 }

        /// Returns a `boolean`, `smallint`, `integer` or `bigint` as an integer; 0 for NULL, and 1 for true.
        package func int64(_ column: Int32) -> Int64 {
            let bytes = buffer(column)
            return switch bytes.count {
            case 8...: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
            case 4...: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
            case 2...: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
            case 1: Int64(bytes.loadUnaligned(as: Int8.self))
            default: 0
            }
        }

        /// Returns a column as an integer; `nil` for NULL.
        package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }

        /// Returns a `text` or `bytea` as text, and a `bigint` as decimal digits; empty for NULL, and with U+FFFD in
        /// place of invalid UTF-8.
        package func text(_ column: Int32) -> String {
            switch PQftype(rows.result, column) {
            case TypeID.int8: isNull(column) ? "" : String(int64(column))
            default: String(decoding: buffer(column), as: UTF8.self)
            }
        }

        /// Returns a column as bytes; empty for NULL.
        package func bytes(_ column: Int32) -> [UInt8] { [UInt8](buffer(column)) }

        /// Returns a column's name in the result; its number if the result does not have it.
        package func columnName(_ column: Int32) -> String {
            PQfname(rows.result, column).map { String(cString: $0) } ?? "\(column)"
        }

        /// Returns the bytes of a value, which are valid as long as `rows` lives; empty for NULL.
        private func buffer(_ column: Int32) -> UnsafeRawBufferPointer {
            guard let start = PQgetvalue(rows.result, index, column) else {
                return UnsafeRawBufferPointer(start: nil, count: 0)
            }
            return UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(rows.result, index, column)))
        }
    }
}
