/// Rates the settings of a PostgreSQL database.
extension Rating {
    /// Rates a version, such as 150018 for 15.18.
    package static func database(version: Int, _ shown: String) -> Finding {
        let text = "PostgreSQL \(version / 10_000).\(version % 10_000) at \(shown)"
        return version < 130_000
            ? .error("database", text, fix: "update it: ringline needs PostgreSQL 13 or later") : .ok("database", text)
    }

    /// Rates the settings `fsync` and `full_page_writes`.
    package static func durability(syncsToDisk: Bool, writesFullPages: Bool) -> [Finding] {
        let subject = "database disk"
        var findings: [Finding] = []
        if !syncsToDisk {
            findings.append(
                .error(
                    subject,
                    "fsync is off: a crash of its machine loses what was acknowledged, and may destroy the database",
                    fix: "ALTER SYSTEM SET fsync = on, and reload PostgreSQL"
                )
            )
        }
        if !writesFullPages {
            findings.append(
                .warning(
                    subject,
                    "full_page_writes is off: a crash of its machine may destroy the database",
                    fix: "ALTER SYSTEM SET full_page_writes = on, unless its file system never writes half a page (ZFS)"
                )
            )
        }
        return findings.isEmpty ? [.ok(subject, "fsync and full_page_writes are on")] : findings
    }

    /// Rates the settings `synchronous_commit` and `synchronous_standby_names`.
    ///
    /// The server raises `off` and `local` to `on` for its own commits.
    package static func replication(commit: String, standbys: String) -> Finding {
        let subject = "database standby"
        guard !standbys.isEmpty else {
            return .warning(
                subject,
                "synchronous_standby_names is empty: a fail-over to a standby loses the newest commits, with signals and "
                    + "devices that were acknowledged",
                fix:
                    "set synchronous_standby_names = 'ANY 1 (*)'; without a standby, know that the calls are on one disk"
            )
        }
        let waits = "commits wait for \(standbys)"
        switch commit {
        case "remote_write":
            return .warning(
                subject,
                "\(waits), but synchronous_commit = remote_write does not wait for its disk: if the machines of both "
                    + "crash, the newest commits are lost",
                fix: "ALTER ROLE or ALTER SYSTEM: SET synchronous_commit = on"
            )
        case "off", "local":
            return .ok(subject, "\(waits); the server raises synchronous_commit = \(commit) to on for its own commits")
        default: return .ok(subject, "\(waits) (synchronous_commit = \(commit))")
        }
    }

    /// Rates the difference between the clocks of a database and of this machine, in milliseconds.
    package static func clock(ofDatabase ahead: Int64) -> Finding {
        let subject = "database clock"
        guard ahead.magnitude >= 1_000 else { return .ok(subject, "within a second of this machine's") }
        let seconds = "\(ahead.magnitude / 1_000).\(ahead.magnitude % 1_000 / 100) s"
        return .warning(
            subject,
            "it is \(seconds) \(ahead < 0 ? "behind" : "ahead of") this machine's: the lease in the database and the times "
                + "in the log do not fit together",
            fix: "synchronise both clocks with chrony or systemd-timesyncd"
        )
    }
}
