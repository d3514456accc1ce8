import CSQLite

extension Connection {
    /// How thoroughly a write-ahead log is copied into its database.
    package enum CheckpointMode: Sendable {
        /// As many pages as possible without waiting for other connections (`SQLITE_CHECKPOINT_PASSIVE`).
        case passive
        /// All pages, waiting for readers; then the log's file is truncated to zero bytes
        /// (`SQLITE_CHECKPOINT_TRUNCATE`).
        case truncate
    }

    /// Copies the write-ahead log into the database (`sqlite3_wal_checkpoint_v2`).
    /// - Returns: The number of pages in the log, and how many of them are copied; both are -1 without a log.
    @discardableResult
    package func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> (logged: Int, carried: Int) {
        var logged: Int32 = 0
        var carried: Int32 = 0
        let how =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        guard sqlite3_wal_checkpoint_v2(handle.pointer, nil, how, &logged, &carried) == SQLITE_OK else {
            throw handle.error(in: "checkpoint")
        }
        return (Int(logged), Int(carried))
    }
}
