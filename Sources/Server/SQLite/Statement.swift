import CSQLite

/// A prepared statement (`sqlite3_stmt`): bind values, step, read columns, and repeat.
///
/// Like its connection, a statement is used by one thread at a time. Parameters count from 1, columns from 0, as in
/// SQLite.
package final class Statement {
    private let handle: Handle
    private let pointer: OpaquePointer
    /// The name of the statement's SQL, for errors.
    package let name: String

    /// Compiles SQL of exactly one statement (`sqlite3_prepare_v3`, with the flag for statements that are kept).
    init(_ sql: SQL, on handle: Handle) throws(SQLiteError) {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(
            handle.pointer,
            sql.text,
            -1,
            UInt32(SQLITE_PREPARE_PERSISTENT),
            &prepared,
            nil
        )
        guard code == SQLITE_OK else { throw handle.error(in: sql.name) }
        guard let prepared else {
            throw SQLiteError(
                extendedCode: SQLITE_MISUSE,
                message: "the SQL text has no statement",
                statement: sql.name
            )
        }
        self.handle = handle
        pointer = prepared
        name = sql.name
    }

    deinit { sqlite3_finalize(pointer) }

    // MARK: Values in

    /// Binds an integer (`sqlite3_bind_int64`).
    package func bind(_ value: Int64, at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_int64(pointer, index, value))
    }

    /// Binds an integer or NULL.
    package func bind(_ value: Int64?, at index: Int32) throws(SQLiteError) {
        guard let value else { return try bindNull(at: index) }
        try check(sqlite3_bind_int64(pointer, index, value))
    }

    /// Binds a floating-point number (`sqlite3_bind_double`); NaN becomes NULL.
    package func bind(_ value: Double, at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_double(pointer, index, value))
    }

    /// Binds text (`sqlite3_bind_text64`); its UTF-8 is copied once, by SQLite.
    package func bind(_ value: String, at index: Int32) throws(SQLiteError) {
        var value = value
        let code = value.withUTF8 { csqlite_bind_text_copied(pointer, index, $0.baseAddress, UInt64($0.count)) }
        try check(code)
    }

    /// Binds text or NULL.
    package func bind(_ value: String?, at index: Int32) throws(SQLiteError) {
        guard let value else { return try bindNull(at: index) }
        try bind(value, at: index)
    }

    /// Binds bytes (`sqlite3_bind_blob64`), which SQLite copies; see ``run(borrowing:at:)`` for large ones.
    package func bind(_ value: [UInt8], at index: Int32) throws(SQLiteError) {
        try check(value.withUnsafeBytes { csqlite_bind_blob_copied(pointer, index, $0.baseAddress, UInt64($0.count)) })
    }

    /// Binds NULL (`sqlite3_bind_null`).
    package func bindNull(at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_null(pointer, index))
    }

    // MARK: Running

    /// Advances to the next row (`sqlite3_step`); at the end, and after an error, the statement is reset.
    /// - Returns: Whether there is a row; its columns can be read until the next call.
    package func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(pointer)
            return false
        default:
            let error = handle.error(in: name)
            sqlite3_reset(pointer)
            throw error
        }
    }

    /// Runs the statement to the end and ignores its rows.
    package func run() throws(SQLiteError) {
        while try step() {}
    }

    /// Binds bytes without a copy and runs to the end; afterwards the parameter is NULL.
    package func run(borrowing value: ArraySlice<UInt8>, at index: Int32) throws(SQLiteError) {
        let result = value.withUnsafeBytes { bytes -> Result<Void, SQLiteError> in
            // SQLite must not keep the address beyond this closure, not even after an error.
            defer { sqlite3_bind_null(pointer, index) }
            return Result { () throws(SQLiteError) in
                try check(csqlite_bind_blob_borrowed(pointer, index, bytes.baseAddress, UInt64(bytes.count)))
                try run()
            }
        }
        try result.get()
    }

    /// Stops before the end (`sqlite3_reset`); bound values stay bound.
    package func reset() { sqlite3_reset(pointer) }

    // MARK: Columns out

    /// Returns a column's name in the result (`sqlite3_column_name`).
    package func columnName(_ column: Int32) -> String {
        sqlite3_column_name(pointer, column).map { String(cString: $0) } ?? "\(column)"
    }

    /// Returns whether a column is NULL.
    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(pointer, column) == SQLITE_NULL }

    /// Returns a column as an integer (`sqlite3_column_int64`); 0 for NULL.
    package func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

    /// Returns a column as an integer; `nil` for NULL.
    package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }

    /// Returns a column as a floating-point number (`sqlite3_column_double`); 0 for NULL.
    package func double(_ column: Int32) -> Double { sqlite3_column_double(pointer, column) }

    /// Returns a column as text (`sqlite3_column_text`); empty for NULL, and U+FFFD in place of invalid UTF-8.
    package func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(pointer, column) else { return "" }
        let count = Int(sqlite3_column_bytes(pointer, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Returns a column as text; `nil` for NULL.
    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// Returns a column as bytes (`sqlite3_column_blob`); empty for NULL.
    package func bytes(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(pointer, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))))
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw handle.error(in: name) }
    }
}
