/// A value of a column or of a statement's parameter, with the kind of its column.
package enum SQLValue: Equatable, Sendable {
    /// An integer or NULL.
    case integer(Int64?)
    /// A truth value; SQLite stores 0 or 1.
    case flag(Bool)
    /// A text without U+0000, such as an id or a word of a fixed vocabulary, or NULL.
    case word(String?)
    /// A text that clients choose freely, or NULL; PostgreSQL stores its bytes, because its `text` cannot contain
    /// U+0000.
    case free(String?)

    /// The kind of the column.
    package var kind: Kind {
        switch self {
        case .integer: .integer
        case .flag: .flag
        case .word: .word
        case .free: .free
        }
    }

    /// The kind of a column, from which each database derives its type.
    package enum Kind: Sendable {
        /// See ``SQLValue/integer(_:)``.
        case integer
        /// See ``SQLValue/flag(_:)``.
        case flag
        /// See ``SQLValue/word(_:)``.
        case word
        /// See ``SQLValue/free(_:)``.
        case free
    }
}
