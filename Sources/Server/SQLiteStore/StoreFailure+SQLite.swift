import CallPorts
import SQLite

extension StoreFailure {
    /// Creates a failure that explains SQLite's error to the operator.
    init(_ error: SQLiteError, database: String) {
        let what =
            switch error.code {
            case .full: "No space is left for the database \(database); free some on its disk."
            case .corrupt:
                "The database \(database) is damaged; restore it from a backup, or move it away to start with an empty one."
            case .notADatabase:
                "The file \(database) is not a database; restore it from a backup, or move it away to start with an empty one."
            case .busy: "The database \(database) is locked by another program; stop that program."
            case .readOnly: "The database \(database) cannot be written; it must belong to the user that runs ringline."
            case .cannotOpen:
                "The database \(database), or a file beside it, cannot be opened; check its owner and mode."
            case .inputOutput:
                "The disk under the database \(database) reports an error; see the system's log, and check whether the disk is full."
            default: "The database \(database) cannot be used."
            }
        self.init("\(what) (\(error.statement): \(error.message), SQLite \(error.extendedCode))")
    }

    /// Creates a failure that explains a failed migration to the operator.
    init(_ failure: Migrations.Failure, database: String) {
        switch failure {
        case .newer(let found, let known):
            self.init(
                """
                The database \(database) was written by a newer ringline (schema \(found), this one knows \(known)); \
                run that version, or restore a backup made before it.
                """
            )
        case .sqlite(let error): self.init(error, database: database)
        }
    }
}
