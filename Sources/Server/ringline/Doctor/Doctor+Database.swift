import CallPorts
import Diagnostics
import Postgres
import PostgresStore

extension Doctor {
    private static let subject = "database"

    /// Checks the PostgreSQL database; returns no findings if the settings name none.
    ///
    /// `nodes` is the database's list of nodes; `nil` if it cannot be read.
    func database() -> (findings: [Finding], nodes: [ListedNode]?) {
        guard let store = settings.store else { return ([], nil) }
        do throws(UsageError) {
            let options = try StoreOptions(store, passwordFile: settings.storePasswordFile)
            return try findings(options)
        } catch {
            let finding = Finding.error(
                Self.subject,
                error.description,
                fix: "see 'PostgreSQL' on the page Configure; the server could not use this database"
            )
            return ([finding], nil)
        }
    }

    private func findings(
        _ options: StoreOptions
    ) throws(UsageError) -> (findings: [Finding], nodes: [ListedNode]?) {
        do throws(StoreFailure) {
            let inspector = try DatabaseInspector(options)
            let facts = try inspector.facts()
            var findings = [Rating.database(version: facts.version, options.settings.shown)]
            findings += Rating.durability(syncsToDisk: facts.syncsToDisk, writesFullPages: facts.writesFullPages)
            findings.append(
                Rating.replication(commit: facts.synchronousCommit, standbys: facts.synchronousStandbys)
            )
            findings.append(Rating.clock(ofDatabase: facts.clockAheadMilliseconds))
            findings.append(tables(facts))
            if let owner = facts.owner { findings.append(.ok("database owner", DatabaseOwner.text(owner))) }
            guard facts.schemaVersion == DatabaseFacts.knownSchemaVersion else {
                // A database without tables has no nodes; those of another version are not read.
                return (findings, facts.schemaVersion == nil ? [] : nil)
            }
            findings.append(Self.values(try inspector.damages()))
            return (findings, try Self.listedNodes(inspector))
        } catch { throw UsageError(error.message) }
    }

    private func tables(_ facts: DatabaseFacts) -> Finding {
        let (subject, known) = ("database schema", DatabaseFacts.knownSchemaVersion)
        guard let found = facts.schemaVersion else {
            return facts.mayCreateSchema
                ? .ok(subject, "there is none yet; the first start makes it")
                : .error(
                    subject,
                    "there is none yet, and the user may not make it",
                    fix: "GRANT CREATE ON DATABASE to the user, or make the schema with the user as its owner"
                )
        }
        if found > known {
            return .error(
                subject,
                "version \(found) is newer than this ringline's, \(known)",
                fix: "run the ringline that wrote it, or restore a backup made before it"
            )
        }
        if found < known {
            return .warning(
                subject,
                "version \(found) is older than this ringline's, \(known)",
                fix: "the next start updates it; back it up first"
            )
        }
        return .ok(subject, "version \(found)")
    }

    private static func values(_ damages: [DamagedValue]) -> Finding {
        let subject = "database values"
        guard let first = damages.first else { return .ok(subject, "all that a start reads are valid") }
        let more = damages.count == 1 ? "" : ", and \(damages.count - 1) more"
        return .warning(
            subject,
            "column \(first.column) of table \(first.table), row \(first.row), holds an invalid value\(more)",
            fix:
                "check the database's disk; 'Invalid values in the database' on the page Troubleshooting says what a start does"
        )
    }
}
