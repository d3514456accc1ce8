import CSQLite

extension Connection {
    /// How thoroughly a write-ahead log is carried over into its database.
    public enum CheckpointMode: Sendable {
        /// As much as is possible without waiting for anybody (`SQLITE_CHECKPOINT_PASSIVE`).
        case passive
        /// All of it, waiting for readers, and the log's file is cut to nothing (`SQLITE_CHECKPOINT_TRUNCATE`).
        case truncate
    }

    /// Carries the write-ahead log over into the database (`sqlite3_wal_checkpoint_v2`).
    /// - Returns: How many pages the log holds, and how many of them are carried over; -1 without a log.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> (logged: Int, carried: Int) {
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
