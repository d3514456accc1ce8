import CallCore
import SQLite
import Switchboard

/// What only operators ask.
extension Questions {
    /// The apps of all devices, in the order of their names.
    func bundleIDs(limit: Int) throws(StoreFailure) -> [String] {
        try reading { () throws -> [String] in
            let rows = try connection.statement(
                SQL("apps", "SELECT DISTINCT bundle_id FROM device WHERE bundle_id <> '' ORDER BY bundle_id LIMIT ?1")
            )
            defer { rows.reset() }
            try rows.bind(Int64(limit), at: 1)
            var found: [String] = []
            while try rows.step() { found.append(rows.text(0)) }
            return found
        }
    }
}
