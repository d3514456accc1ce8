import CallCore
import CallPorts
import CallTesting
import Glibc
import Postgres
import Testing
import Threads

@testable import PostgresStore

@Suite("A node's register in PostgreSQL", .timeLimit(.minutes(3)))
struct PostgresOwnershipRegisterTests {
    private let schema: TemporarySchema
    private let reports = Monitor<[OwnershipReport]>([])
    private let storeReports = StoreReports()
    private let now = Moment(milliseconds: 1_800_000_000_000)

    init() throws { schema = try TemporarySchema() }

    private func register(
        _ node: String = "n",
        _ change: (inout StoreOptions) -> Void = { _ in }
    ) throws -> PostgresOwnershipRegister {
        var options = schema.options
        options.leaseMilliseconds = 30_000
        change(&options)
        return PostgresOwnershipRegister(
            options,
            node: try #require(NodeID(node)),
            address: "\(node):1",
            version: "1.\(node)",
            storeReport: { [storeReports] in storeReports.add($0) },
            report: { [reports] report in reports.withLock { $0.append(report) } }
        )
    }

    private func next() throws -> OwnershipReport {
        try #require(reports.wait(until: .now + .seconds(20)) { $0.isEmpty ? nil : $0.removeFirst() })
    }

    /// Returns the result of a claim; a durable claim is reported before the calls are read.
    private func nextOfClaim() throws -> OwnershipReport {
        let first = try next()
        if case .loading = first { return try next() }
        if case .claimed = first { Issue.record("the claim was not reported before the calls were read") }
        return first
    }

    private func claim(
        _ register: PostgresOwnershipRegister,
        after epoch: UInt64 = 0,
        above known: UInt64 = 0
    ) throws -> ClaimedStore {
        register.claim(after: OwnerEpoch(rawValue: epoch), above: OwnerEpoch(rawValue: known))
        guard case .claimed(let claimed) = try nextOfClaim() else {
            throw PostgresServer.Failure(reason: "not claimed")
        }
        return claimed
    }

    private func row(_ register: PostgresOwnershipRegister) throws -> OwnerRow {
        register.read()
        guard case .row(let row) = try next() else { throw PostgresServer.Failure(reason: "not read") }
        return row
    }

    /// Returns the message with which a register refuses to open; empty if it opens.
    private func failure(_ change: (inout StoreOptions) -> Void = { _ in }) throws -> String {
        let register = try register("n", change)
        do throws(StoreFailure) { _ = try register.open() } catch { return error.message }
        register.close()
        return ""
    }

    private func user(_ text: String) throws -> UserID { try #require(UserID(text)) }

    private func block(_ text: String) throws -> [Change] { [.blocked(try user(text), by: try user("x"), at: now)] }

    @Test("A server that is not one of several nodes waits for a node that owns, and its claim clears the node")
    func singleServer() throws {
        let register = try register()
        _ = try register.open()
        let claimed = try claim(register)
        var options = schema.options
        options.machine = "elsewhere"
        let single = PostgresCallStore(options) { _ in }
        options.ownerWait = OwnerWait(isOver: { true })
        let impatient = PostgresCallStore(options) { _ in }
        #expect(throws: StoreFailure.self) { try impatient.open(at: now) }
        let heir = try #require(NodeID("heir"))
        claimed.store.close(releasingTo: heir)
        #expect(try row(register).heir == heir)
        #expect(try single.open(at: now).uncleanStarts == 0)
        let found = try row(register)
        #expect(found.epoch.rawValue == 2 && found.node == nil && found.address == "" && found.heir == nil)
        #expect(!found.isReleased && !found.isExpired)
        single.close()
        register.close()
    }

    @Test("A claim that a fail-over has lost names the node again when the owner repeats it")
    func claimedAgain() throws {
        let register = try register()
        _ = try register.open()
        let claimed = try claim(register)
        try schema.execute(
            """
            BEGIN; UPDATE owner SET epoch = 0, claim = 0, node_id = 'm', address = 'm:1', heir = 'h';
            SELECT pg_terminate_backend(backend::integer) FROM owner; COMMIT
            """
        )
        _ = claimed.store.commit(try block("1"), as: Ticket(rawValue: 1))
        try storeReports.wait { $0.contains("committed 1") }
        let found = try row(register)
        #expect(found.epoch.rawValue == 1 && found.node?.text == "n" && found.address == "n:1" && found.heir == nil)
        #expect(try DatabaseReader(schema.options).owner()?.claimsLostAt != nil)
        claimed.store.close(releasingTo: nil)
        register.close()
    }

    @Test("An owner does not repeat its lost claim if another server has claimed since")
    func claimedMeanwhile() throws {
        let (first, second) = (try register("a"), try register("b"))
        _ = try first.open()
        _ = try second.open()
        let former = try claim(first, above: 5)
        #expect(former.epoch.rawValue == 6)
        let connection = try schema.connection()
        let backend = try connection.run(SQL("owner", "SELECT backend FROM owner")).first?.int64(0) ?? 0
        try schema.execute("UPDATE owner SET epoch = 0, claim = 0, released = true")
        let claimed = try claim(second)
        #expect(claimed.epoch.rawValue == 1)
        try schema.execute("SELECT pg_terminate_backend(\(backend))")
        _ = former.store.commit(try block("1"), as: Ticket(rawValue: 1))
        try storeReports.wait { $0.contains("deposed") }
        let failure = try #require(storeReports.now.failures.last)
        #expect(failure.contains("Another node has taken over the calls"))
        #expect(failure.contains("This node stood still") && failure.contains("restored to an earlier state"))
        #expect(try row(second).epoch.rawValue == 1)
        former.store.close(releasingTo: nil)
        claimed.store.close(releasingTo: nil)
        first.close()
        second.close()
    }

    @Test("A claim after lost claims is recorded for operators; one after another owner is not")
    func lossRecorded() throws {
        let register = try register()
        _ = try register.open()
        try claim(register).store.close(releasingTo: nil)
        #expect(try DatabaseReader(schema.options).owner()?.claimsLostAt == nil)
        try claim(register, after: 1, above: 7).store.close(releasingTo: nil)
        let at = try #require(try DatabaseReader(schema.options).owner()?.claimsLostAt)
        #expect(abs(at.milliseconds - SystemClock.wall()) < 60_000)
        register.close()
    }

    @Test("A claim reads only after it is durable, so it sees the last commit of the former owner")
    func readsAfterwards() throws {
        let (first, second) = (try register("a"), try register("b"))
        _ = try first.open()
        _ = try second.open()
        let former = try claim(first)
        _ = former.store.commit(try block("1"), as: Ticket(rawValue: 1))
        try storeReports.wait { $0.contains("committed 1") }
        // The row names no connection, so the claim waits for the commit instead of closing its connection.
        try schema.execute("UPDATE owner SET backend = 0")
        // The lock stops the commit, and does not stop a reading of the state.
        let blocker = try schema.connection()
        try blocker.execute(SQL("lock", "BEGIN; LOCK TABLE block IN SHARE MODE"))
        _ = former.store.commit(try block("2"), as: Ticket(rawValue: 2))
        try schema.waitUntilLocked()
        second.claim(after: OwnerEpoch(rawValue: 1), above: OwnerEpoch(rawValue: 1))
        // A transaction always sees the same activity, so the blocker's connection cannot be used.
        let observer = try schema.connection()
        let count = SQL("waiting", "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid'")
        try waitUntil("the claim waits for the commit") { try observer.run(count).first?.int64(0) ?? 0 > 0 }
        try blocker.execute(SQL("unlock", "COMMIT"))
        try storeReports.wait { $0.contains("committed 2") }
        guard case .claimed(let claimed) = try nextOfClaim() else {
            throw PostgresServer.Failure(reason: "not claimed")
        }
        #expect(claimed.state.blocks.count == 2)
        former.store.close(releasingTo: nil)
        claimed.store.close(releasingTo: nil)
        first.close()
        second.close()
    }

    @Test("A claim that waits for the lock closes no connection of a node that has claimed meanwhile")
    func sparesTheWinner() throws {
        let register = try register()
        _ = try register.open()
        let blocker = try schema.connection()
        // Until the commit, the claim sees epoch 0, and afterwards an owner of epoch 1 with the blocker's connection.
        try blocker.execute(
            SQL(
                "claim",
                """
                BEGIN; UPDATE owner SET epoch = 1, backend = pg_backend_pid(), backend_start =
                    (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())
                """
            )
        )
        register.claim(after: .none, above: .none)
        try schema.waitUntilLocked()
        try blocker.execute(SQL("commit", "COMMIT; BEGIN; SELECT FROM owner FOR UPDATE"))
        guard case .claimLost = try next() else { throw PostgresServer.Failure(reason: "not lost") }
        try blocker.execute(SQL("end", "COMMIT"))
        register.close()
    }

    @Test("A store that is given back is released without a wait, and before a later claim")
    func givenBack() throws {
        let register = try register()
        _ = try register.open()
        let claimed = try claim(register)
        let blocker = try schema.connection()
        try blocker.execute(SQL("lock", "BEGIN; SELECT FROM owner FOR UPDATE"))
        let order = Monitor<[String]>([])
        register.giveBack(claimed.store, to: nil) { order.withLock { $0.append("released") } }
        register.claim(after: OwnerEpoch(rawValue: 1), above: OwnerEpoch(rawValue: 1))
        try schema.waitUntilLocked()
        #expect(order.withLock { $0.isEmpty })
        try blocker.execute(SQL("unlock", "COMMIT"))
        guard case .claimed(let next) = try nextOfClaim() else { throw PostgresServer.Failure(reason: "not claimed") }
        #expect(order.withLock { $0 } == ["released"])
        #expect(next.state.uncleanStarts == 0)
        register.giveBack(next.store, to: nil) { order.withLock { $0.append("released again") } }
        register.close()
        #expect(order.withLock { $0 } == ["released", "released again"])
    }

    // MARK: The list of nodes

    @Test("The list tells the nodes that run, which of them owns the calls, and for a day those that were killed")
    func nodes() throws {
        let (first, second) = (try register("a"), try register("b"))
        _ = try first.open()
        _ = try second.open()
        try schema.execute(
            """
            INSERT INTO node SELECT name, 'm', 'h:1', '0', clock_timestamp() - age
            FROM (VALUES ('killed', interval '6 s'), ('old', interval '23 h'), ('older', interval '25 h')) v(name, age)
            """
        )
        let claimed = try claim(first)
        #expect(claimed.others.map(\.text) == ["b"])
        let inspector = try DatabaseInspector(schema.options)
        try waitUntil("the oldest node is forgotten") { try inspector.nodes().count == 4 }
        let found = try inspector.nodes()
        let ids = found.map(\.id)
        #expect(ids.prefix(2).sorted() == ["a", "b"])
        #expect(ids.suffix(2) == ["killed", "old"])
        #expect(found.filter(\.isOwner).map(\.id) == ["a"])
        let own = try #require(found.first { $0.id == "a" })
        #expect(own.machine == schema.options.machine)
        #expect(own.address == "a:1" && own.version == "1.a" && own.seenMillisecondsAgo < 5_000)
        #expect(found[2].seenMillisecondsAgo >= 6_000)
        claimed.store.close(releasingTo: nil)
        #expect(try inspector.nodes().filter(\.isOwner) == [])
        first.close()
        #expect(try inspector.nodes().map(\.id) == ["b", "killed", "old"])
        // A row that was lost, as in a fail-over, comes back.
        try schema.execute("DELETE FROM node")
        try waitUntil("the node is in the list again") { try inspector.nodes().map(\.id) == ["b"] }
        second.close()
    }

    // MARK: Failures

    @Test("A database with a newer schema, and one that refuses the node, are refused at once")
    func refused() throws {
        #expect(try failure() == "")
        let server = try PostgresServer.running()
        let unknown = try server.settings(database: "none")
        #expect(try failure { $0.settings = unknown }.contains("createdb --encoding=UTF8 none"))
        try schema.execute("UPDATE secret SET value = '\\x01'")
        #expect(try failure().contains("has 1 bytes instead of 32"))
        try schema.execute("UPDATE schema_version SET version = 9")
        #expect(try failure().contains("newer ringline (schema 9, this one knows 7)"))
    }

    @Test("While the database cannot be reached the opening waits, says so once, and can be ended")
    func unreachable() throws {
        let nobody = try PostgresServer.running().settings(port: try freePort())
        let reasons = Monitor<[String]>([])
        let isStopped = Monitor(false)
        let wait = OwnerWait(
            isOver: { isStopped.withLock { $0 } },
            onDelay: { reason in reasons.withLock { $0.append(reason) } }
        )
        let register = try register("n") {
            $0.settings = nobody
            $0.ownerWait = wait
        }
        let message = Monitor<String?>(nil)
        let opening = try WorkThread(named: "opening") {
            do throws(StoreFailure) { _ = try register.open() } catch { message.withLock { $0 = error.message } }
        }
        let reason: String? = reasons.wait(until: .now + .seconds(10)) { $0.first }
        #expect(reason?.contains("cannot be reached") == true)
        usleep(300_000)
        #expect(message.withLock { $0 } == nil)
        isStopped.withLock { $0 = true }
        opening.join()
        #expect(message.withLock { $0 }?.contains("cannot be reached") == true)
        #expect(reasons.withLock { $0.count } == 1)
    }

    @Test("If PostgreSQL closes the connection, the next reading uses a new one")
    func connectionClosed() throws {
        let register = try register()
        _ = try register.open()
        for _ in 1...3 {
            #expect(try row(register).epoch == .none)
            try schema.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = '\(schema.options.schema)' AND pid <> pg_backend_pid()
                """
            )
        }
        #expect(try claim(register).epoch.rawValue == 1)
        register.close()
    }

    @Test("A claim fails if the database cannot be reached, and a report may release the register")
    func claimFailed() throws {
        let proxy = try FaultyProxy(to: try PostgresServer.running().port)
        defer { proxy.end() }
        var options = schema.options
        options.settings = try PostgresServer.running().settings(port: proxy.port)
        let register = Monitor<PostgresOwnershipRegister?>(nil)
        let isReleased = Monitor(false)
        let node = try #require(NodeID("n"))
        // No variable of the test may hold the register when it is released.
        register.withLock { [options] in
            $0 = PostgresOwnershipRegister(
                options,
                node: node,
                address: "",
                version: "",
                storeReport: { _ in },
                report: { report in
                    guard case .claimFailed = report else { return }
                    do { _ = register.withLock { $0.take() } }
                    isReleased.withLock { $0 = true }
                }
            )
        }
        _ = try register.withLock { try $0?.open() }
        proxy.cause(.silence)
        register.withLock { $0?.claim(after: .none, above: .none) }
        #expect(isReleased.wait(until: .now + .seconds(10)) { $0 ? true : nil } == true)
    }
}
