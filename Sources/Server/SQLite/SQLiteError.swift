import CSQLite

/// An error of SQLite (<https://www.sqlite.org/rescode.html>); its texts contain no bound value.
package struct SQLiteError: Error, Equatable, Sendable {
    /// The primary result code.
    package let code: Code
    /// The extended result code; equal to `code.rawValue` when SQLite reported no extended code.
    package let extendedCode: Int32
    /// SQLite's message in English (`sqlite3_errmsg`).
    package let message: String
    /// The name of the statement that failed, or of the operation.
    package let statement: String

    /// Creates an error of these parts; the primary code is the low byte of the extended one.
    package init(extendedCode: Int32, message: String, statement: String) {
        self.code = Code(rawValue: extendedCode & 0xff)
        self.extendedCode = extendedCode
        self.message = message
        self.statement = statement
    }

    /// A primary result code; the codes that a program may need to distinguish have names.
    package struct Code: RawRepresentable, Hashable, Sendable {
        /// SQLite's number.
        package let rawValue: Int32

        /// Creates the code with this number.
        package init(rawValue: Int32) { self.rawValue = rawValue }

        /// `SQLITE_ERROR`: the SQL is wrong, or there is no more specific code.
        package static let error = Code(rawValue: SQLITE_ERROR)
        /// `SQLITE_BUSY`: another connection holds the lock.
        package static let busy = Code(rawValue: SQLITE_BUSY)
        /// `SQLITE_READONLY`: the file or its folder cannot be written.
        package static let readOnly = Code(rawValue: SQLITE_READONLY)
        /// `SQLITE_IOERR`: the operating system reported an I/O error.
        package static let inputOutput = Code(rawValue: SQLITE_IOERR)
        /// `SQLITE_CORRUPT`: the file is damaged.
        package static let corrupt = Code(rawValue: SQLITE_CORRUPT)
        /// `SQLITE_FULL`: the disk is full, or the file may not grow.
        package static let full = Code(rawValue: SQLITE_FULL)
        /// `SQLITE_CANTOPEN`: a file could not be opened.
        package static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
        /// `SQLITE_CONSTRAINT`: a row violates a constraint of its table.
        package static let constraint = Code(rawValue: SQLITE_CONSTRAINT)
        /// `SQLITE_MISUSE`: the library was used wrongly.
        package static let misuse = Code(rawValue: SQLITE_MISUSE)
        /// `SQLITE_NOTADB`: the file is not a database.
        package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
    }
}

extension SQLiteError: CustomStringConvertible {
    /// The statement's name, SQLite's message, and the code.
    package var description: String { "\(statement): \(message) (SQLite \(extendedCode))" }
}
