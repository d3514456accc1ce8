import CallCore
import CallPorts
import CallTesting
import Postgres
import Storing
import Testing
import Threads

@testable import PostgresStore

@Suite("The lease of a PostgreSQL store", .timeLimit(.minutes(3)))
struct PostgresLeaseTests {
    private let schema: TemporarySchema
    private let now = Moment(milliseconds: 1_800_000_000_000)

    init() throws { schema = try TemporarySchema() }

    /// Returns how long the lease still lasts, and until when, in milliseconds.
    private func lease() throws -> (left: Int64, end: Int64) {
        let lease = SQL(
            "lease",
            """
            SELECT (extract(epoch FROM until - clock_timestamp()) * 1000)::bigint,
                (extract(epoch FROM until) * 1000)::bigint FROM owner
            """
        )
        let row = try #require(try schema.connection().run(lease).first)
        return (row.int64(0), row.int64(1))
    }

    @Test("A server that reads a large state renews its lease, which is no longer than later")
    func loading() throws {
        let former = PostgresCallStore(schema.options) { _ in }
        _ = try former.open(at: now)
        former.close()
        let store = PostgresCallStore(schema.options) { _ in }
        let blocker = try schema.connection()
        // A claim and the repairs do not need this table.
        try blocker.execute(SQL("lock", "BEGIN; LOCK TABLE entry IN ACCESS EXCLUSIVE MODE"))
        let isOpen = Monitor(false)
        let opening = try WorkThread(named: "opening") { [now] in
            guard (try? store.open(at: now)) != nil else { return }
            isOpen.withLock { $0 = true }
        }
        try schema.waitUntilLocked()
        let first = try lease()
        #expect(first.left <= schema.options.leaseMilliseconds)
        try waitUntil("the lease was renewed for a while") {
            try lease().end > first.end + 3 * schema.options.leaseMilliseconds
        }
        #expect(!isOpen.withLock { $0 })
        try blocker.execute(SQL("unlock", "COMMIT"))
        opening.join()
        #expect(isOpen.withLock { $0 })
        let opened = try lease()
        try waitUntil("the open store renews the lease") { try lease().end > opened.end }
        store.close()
    }

    @Test("A renewal that an owner had sent when it crashed is no sign of life: the next server waits for its end")
    func lastRenewal() throws {
        let former = PostgresCallStore(schema.options) { _ in }
        _ = try former.open(at: now)
        former.close()
        try schema.execute(
            """
            UPDATE owner SET released = false, node = 'elsewhere', backend = 0,
                until = clock_timestamp() + interval '0.3 s'
            """
        )
        var options = schema.options
        options.ownerWait = OwnerWait(onWait: { [schema] _ in
            // The test fails below if this does.
            try? schema.execute("UPDATE owner SET until = until + interval '0.3 s'")
        })
        let end = try lease().end
        let next = PostgresCallStore(options) { _ in }
        _ = try next.open(at: now)
        #expect(try lease().end > end + 300)
        next.close()
    }

    @Test("An open store renews its lease on the connection of its commits alone")
    func endOfLoading() throws {
        var options = schema.options
        options.leaseMilliseconds = 600
        let reports = StoreReports()
        let store = PostgresCallStore(options) { reports.add($0) }
        _ = try store.open(at: now)
        // The first query opens the connection of the queries.
        store.submit(.peers(try #require(UserID("x")), limit: 1), as: StoreQueryID(rawValue: 1))
        try reports.wait { $0.contains("answered 1") }
        let observer = try schema.connection()
        let connections = SQL(
            "connections",
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE application_name = '\(schema.options.schema)' AND pid <> pg_backend_pid()
            """
        )
        // One for commits and one for queries.
        try waitUntil("the lease of the loading has ended") { try observer.run(connections).first?.int64(0) == 2 }
        store.close()
    }

    @Test("Renewals that fail while the state is read are reported once")
    func missedRenewals() throws {
        let store = PostgresCallStore(schema.options) { _ in }
        _ = try store.open(at: now)
        store.close()
        try schema.execute("CREATE SEQUENCE attempts")
        var options = schema.options
        options.leaseMilliseconds = 30
        let reasons = Monitor<[String]>([])
        options.ownerWait = OwnerWait(onMissedRenewal: { reason in reasons.withLock { $0.append(reason) } })
        // The sequence counts although the statement fails.
        let renewal = Connection.Step(SQL("renewal", "SELECT 1 / (nextval('attempts') * 0)"))
        let threads = StoreThreads()
        let lease = try LoadingLease(options, renewal: renewal, on: threads)
        let attempts = SQL("attempts", "SELECT last_value FROM attempts")
        let observer = try schema.connection()
        try waitUntil("several renewals have failed") { try observer.run(attempts).first?.int64(0) ?? 0 > 4 }
        lease.end()
        #expect(reasons.withLock { $0.count } == 1)
        #expect(reasons.withLock { $0.first }?.contains("division by zero") == true)
    }

    @Test("A renewal that was under way when the owner released the calls does not renew the lease")
    func renewalAfterRelease() throws {
        let store = PostgresCallStore(schema.options) { _ in }
        _ = try store.open(at: now)
        let connection = try schema.connection()
        let row = try #require(try connection.run(SQL("claim", "SELECT epoch, claim FROM owner")).first)
        let claim = OwnerTable.Claim(epoch: row.int64(0), nonce: row.int64(1), before: (0, 0))
        let renewal = OwnerTable(options: schema.options).renewal(claim)
        #expect(try connection.run([renewal])[0].first != nil)
        store.close()
        #expect(try connection.run([renewal])[0].first == nil)
        let isOver = SQL("lease", "SELECT (until <= clock_timestamp())::int::bigint FROM owner")
        #expect(try connection.run(isOver).first?.int64(0) == 1)
    }

    @Test("The connections have no limit on idle time, whatever the settings of the role or the database say")
    func idleSessions() throws {
        var options = schema.options
        let address = "postgres://ring@127.0.0.1:\(try PostgresServer.running().port)/postgres"
        options.settings = try ConnectionSettings(url: "\(address)?options=-c%20idle_session_timeout%3D77777")
        let setting = SQL("setting", "SELECT current_setting('idle_session_timeout', true)")
        let plain = try Connection(options.settings)
        #expect(try plain.run(setting).first?.text(0) == "77777ms")
        for purpose in [Connection.Purpose.commits, .queries, .operators, .register] {
            let connection = try Connection.open(options, for: purpose)
            #expect(try connection.run(setting).first?.text(0) == "0", "\(purpose)")
        }
    }

    // MARK: The clock of stalls

    private let start = ContinuousClock.now

    private func clock(stall: Int64 = 3_000, lease: Int64 = 3_000) -> StallClock {
        StallClock(stallMilliseconds: stall, leaseMilliseconds: lease, at: start)
    }

    private func at(_ milliseconds: Int64) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test("A store stands still when the lease has run out since the last commit that was confirmed")
    func countsFromLastCommit() {
        var clock = clock()
        clock.begin(at: at(100))
        clock.confirm(sentAt: at(100))
        #expect(!clock.isLate(at: at(60_000)))
        clock.begin(at: at(1_100))
        #expect(!clock.isLate(at: at(3_099)))
        #expect(clock.isLate(at: at(3_100)))
        clock.confirm(sentAt: at(1_100))
        #expect(!clock.isLate(at: at(3_100)))
    }

    @Test("Neither a further commit nor a new connection restarts the count; a long or short lease does not change it")
    func countsOn() {
        var long = clock(lease: 60_000)
        long.begin(at: at(20_000))
        long.begin(at: at(22_000))
        #expect(!long.isLate(at: at(22_999)))
        #expect(long.isLate(at: at(23_000)))
        var short = clock(lease: 1_000)
        short.begin(at: at(300))
        #expect(!short.isLate(at: at(2_999)))
        #expect(short.isLate(at: at(3_000)))
    }
}
