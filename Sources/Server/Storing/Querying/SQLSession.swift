package import CallCore
package import CallPorts

/// A statement and the values of its parameters.
package typealias SQLStep = (text: SQLText, values: [SQLValue])

/// A connection to a database, as the queries of all stores use it.
package protocol SQLSession {
    /// The database's error.
    associatedtype Failure: Error

    /// The statements in the database's dialect.
    static var statements: StoreStatements { get }

    /// Runs a statement and passes its rows.
    func read(_ sql: SQLText, _ values: [SQLValue], _ body: (any StoredRow) -> Void) throws(Failure)

    /// Runs a statement without parameters, and passes its rows, of which only a part is in memory at a time.
    func readLargeTable(_ sql: SQLText, _ body: (any StoredRow) -> Void) throws(Failure)

    /// Runs statements that see one state of the database, and passes the rows of each, with its index.
    func readSnapshot(_ steps: [SQLStep], _ body: (Int, any StoredRow) -> Void) throws(Failure)

    /// Returns the newest epoch of a callId and its two users, or a bound of it (`EpochSearch`).
    func newestEpoch(of key: CallKey) throws(Failure) -> UInt32?

    /// Returns the stored rows of numbers in a list of names, and how many numbers the list of an `owner` has.
    func names(
        of owner: UserID?,
        among update: [NumberRow],
        _ reader: RowReader
    ) throws(Failure) -> (stored: [PhoneNumber: NumberRow], count: Int)

    /// Begins to read a page of numbers: passes the rows of the first statement. All statements up to
    /// ``endSnapshot(_:_:)`` see one state.
    func beginSnapshot(_ first: SQLText, _ body: (any StoredRow) -> Void) throws(Failure)

    /// Ends the reading of a page; `last`, if there is one, is the last statement.
    func endSnapshot(_ last: SQLStep?, _ body: (any StoredRow) -> Void) throws(Failure)

    /// Ends the reading of a page after an error.
    func abandonSnapshot()
}
