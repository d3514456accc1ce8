import SQLite
import Storing

/// A statement stands for its current row.
extension Statement: StoredRow {}
