import CallCore
import CallPorts
import Postgres
import Storing

/// Changes of the call directory.
extension NumberChange {
    /// The statements that write the change.
    var steps: [Connection.Step] {
        var (numbers, labels) = (Column<Int64>(), Column<ArraySlice<UInt8>>())
        var (versions, removals) = (Column<Int64>(), Column<Int64>())
        for row in rows {
            numbers.append(row.number.rawValue)
            labels.append(bytesOf: row.label)
            versions.append(row.version)
            removals.append(row.removedAt?.milliseconds)
        }
        var written = Parameters()
        written.add(owner?.text ?? "")
        written.add(list.rawValue)
        written.add(numbers)
        written.add(labels)
        written.add(versions)
        written.add(removals)
        let counters = [state.version, state.oldest, Int64(state.count)].map { SQLValue.integer($0) }
        let count = Connection.statements.cold.countNumbers
        return [Connection.Step(Self.write, written), Connection.Step(count, counters)]
    }

    private static let write = SQL(
        "write numbers",
        """
        INSERT INTO directory (owner, list, number, label, version, removed_at)
        SELECT $1, $2, * FROM unnest($3, $4, $5, $6)
        ON CONFLICT (owner, list, number) DO UPDATE
            SET label = excluded.label, version = excluded.version, removed_at = excluded.removed_at
        """
    )

    /// Deletes the oldest removed numbers, and records up to which version that was.
    ///
    /// Rows that are found by their place (`ctid`) need no join, for which the planner might read the whole table.
    static let forgetRemovals = SQL(
        "forget removals",
        """
        WITH gone AS (
            DELETE FROM directory WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM directory WHERE removed_at IS NOT NULL AND removed_at < $1
                ORDER BY removed_at LIMIT \(forgottenAtOnce)))
            RETURNING version)
        INSERT INTO meta (name, value)
        SELECT 'directory_oldest', max(version) FROM gone HAVING max(version) IS NOT NULL
        ON CONFLICT (name) DO UPDATE SET value = greatest(meta.value, excluded.value)
        """
    )
}
