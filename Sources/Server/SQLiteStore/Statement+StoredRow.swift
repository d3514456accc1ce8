import RecordCoding
import SQLite

/// A statement stands for its current row.
extension Statement: StoredRow {}
