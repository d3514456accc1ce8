import CallTesting
import Postgres

/// A PostgreSQL server with a standby: every commit that a client sees confirmed is on both, as long as the standby is
/// synchronous.
final class ReplicatedServer: Sendable {
    /// The pair that the contracts share; no test causes a fault there.
    private static let shared = Result { try ReplicatedServer() }

    let primary: PostgresServer
    let standby: PostgresServer
    /// The way from the primary to the standby.
    let hop: FaultyProxy

    // No test ends the machine, so nothing needs to reach the disk. A standby connects again without the usual pause.
    private static let settings = ["fsync=off", "full_page_writes=off", "wal_retrieve_retry_interval=100ms"]

    init() throws {
        primary = try PostgresServer(Self.settings)
        hop = try FaultyProxy(to: primary.port)
        standby = try PostgresServer(standbyOf: primary.port, Self.settings)
        // The base backup has several connections that wait for each other, which the proxy cannot forward.
        let follower = try Connection(standby.settings(name: "admin").acceptingStandbys)
        let address = "host=127.0.0.1 port=\(hop.port) user=ring application_name=standby"
        try follower.execute(SQL("follow", "ALTER SYSTEM SET primary_conninfo = '\(address)'"))
        try follower.execute(SQL("reload", "SELECT pg_reload_conf()"))
        let receiver = SQL(
            "receiver",
            "SELECT count(*) FROM pg_stat_wal_receiver WHERE sender_port = \(hop.port) AND status = 'streaming'"
        )
        try waitUntil("the standby streams through the proxy") { try follower.run(receiver).first?.int64(0) == 1 }
        let admin = try Connection(primary.settings(name: "admin"))
        try admin.execute(SQL("require", "ALTER SYSTEM SET synchronous_standby_names = 'standby'"))
        try admin.execute(SQL("reload", "SELECT pg_reload_conf()"))
        let state = SQL("standby", "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
        try waitUntil("the standby is synchronous") { try admin.run(state).first?.int64(0) == 1 }
    }

    deinit { hop.end() }

    static func running() throws -> ReplicatedServer { try shared.get() }

    /// Lets the primary confirm commits that the standby does not have.
    func releaseStandby() throws {
        let admin = try Connection(primary.settings(name: "admin"))
        try admin.execute(SQL("release", "ALTER SYSTEM RESET synchronous_standby_names"))
        try admin.execute(SQL("reload", "SELECT pg_reload_conf()"))
        let names = SQL(
            "names",
            "SELECT count(*) FROM pg_settings WHERE name = 'synchronous_standby_names' AND setting = ''"
        )
        try waitUntil("no commit waits for the standby") {
            try Connection(primary.settings(name: "probe")).run(names).first?.int64(0) == 1
        }
    }

    /// Kills the primary, and makes the standby a primary.
    func failOver() throws {
        try primary.carryOut("kill")
        try standby.carryOut("promote")
    }
}
