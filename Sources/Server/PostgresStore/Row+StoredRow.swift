import Postgres
import Storing

/// A row of a statement's result, from which `RowReader` reads a record.
extension Rows.Row: StoredRow {}
