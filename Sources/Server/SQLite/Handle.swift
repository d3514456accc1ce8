import CSQLite

/// The owner of a connection's `sqlite3`; the connection's statements retain the handle, so that it outlives them.
final class Handle {
    let pointer: OpaquePointer

    init(path: String, flags: Int32) throws(SQLiteError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let extended = opened.map { sqlite3_extended_errcode($0) } ?? code
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
            sqlite3_close_v2(opened)
            throw SQLiteError(extendedCode: extended, message: message, statement: "open")
        }
        sqlite3_extended_result_codes(opened, 1)
        pointer = opened
    }

    deinit { sqlite3_close_v2(pointer) }

    /// Returns the error of the last failed call on this handle.
    func error(in statement: String) -> SQLiteError {
        SQLiteError(
            extendedCode: sqlite3_extended_errcode(pointer),
            message: String(cString: sqlite3_errmsg(pointer)),
            statement: statement
        )
    }
}
