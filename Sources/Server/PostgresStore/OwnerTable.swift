import CallPorts
import Glibc
import Postgres
import Threads

/// The row of the table `owner`, which says who owns the database: the statements that check and change it.
///
/// A claim raises the epoch in that row, and each transaction of the owner first checks the epoch (the fence). So a
/// former owner writes nothing, whatever any clock says. The lease only decides when a server may claim.
struct OwnerTable {
    /// The claim that this server has won.
    struct Claim {
        let epoch: Int64
        /// A random number that distinguishes two claims of one epoch.
        ///
        /// If a fail-over loses a claim, another server may claim the same epoch on the new primary.
        let nonce: Int64
        /// The epoch and the random number of the claim before this one, as they were in the row.
        let before: (epoch: Int64, nonce: Int64)
    }

    /// The row `owner`, as it was read before a claim.
    private struct RowBeforeClaim {
        let epoch: Int64
        /// The newest ticket that the owner has committed; 0 = none.
        let ticket: Int64
        let isReleased: Bool
        let node: String
        /// How long the lease still lasts, in milliseconds; 0 = it has run out.
        let leaseLeft: Int64
        /// The end of the lease, in microseconds since 1970 by the database's clock; a renewal changes it.
        let leaseEnd: Int64
        /// Whether the owner's connection is still open.
        let isConnected: Bool
    }

    /// How long a claim waits for a lock on the row, in milliseconds, before the owner's connection is closed.
    static let lockMilliseconds: Int64 = 200

    let options: StoreOptions
    /// The random number of the claim.
    private let nonce = Int64.random(in: .min ... .max)
    /// The node to which ``release(_:on:)`` releases the database; `nil` = to any server.
    var heir = Monitor<NodeID?>(nil)

    // MARK: Claiming

    /// Claims the database as soon as no server owns it or the owner's lease has run out, and waits until the claim is
    /// durable.
    ///
    /// No data may be read before this function returns, because the previous owner may commit until then.
    ///
    /// A server that is one of several nodes waits for nothing: it claims as its ``NodeClaim`` says.
    ///
    /// `isOver` returns whether the wait must end.
    /// - Returns: The claim, and the number of earlier claims without a release, as stored, so it may be an impossible
    ///   value.
    func claim(
        on connection: Connection,
        unless isOver: () -> Bool
    ) throws(StoreFailure) -> (claim: Claim, uncleanStarts: Int64) {
        do throws(PostgresError) {
            if let nodeClaim = options.nodeClaim {
                let epoch = Int64(clamping: nodeClaim.after.rawValue)
                if let won = try attempt(after: epoch, nil, on: connection) { return won }
                throw PostgresError(state: Self.lost, message: "another node has claimed", statement: "claim")
            }
            let start = ContinuousClock.now
            var last: RowBeforeClaim?
            var renewals = 0
            while true {
                guard let row = try readRow(on: connection) else {
                    throw PostgresError(
                        state: .unknownTable,
                        message: "the row of the table owner is missing",
                        statement: Self.read.name
                    )
                }
                if mayBeClaimed(row) {
                    if let won = try attempt(after: row.epoch, row, on: connection) { return won }
                    continue
                }
                if let last, last.leaseEnd != row.leaseEnd { renewals += 1 }
                if last == nil { options.ownerWait.onWait(row.node) }
                last = row
                // A lease that nobody renews ends soon. If the owner renews it, the operator's limit on the wait
                // counts. The first renewal may be one that an owner had sent when it crashed.
                let waited = ContinuousClock.now - start
                let isTooLong = renewals > 1 && waited >= .milliseconds(options.ownerWait.milliseconds)
                if isTooLong || isOver() { throw Self.inUse(by: row) }
                usleep(UInt32(min(row.leaseLeft + 1, 50) * 1_000))
            }
        } catch  where error.state == Self.inUse {
            throw StoreFailure(
                """
                The database \(options.settings.shown) is in use by another ringline, on \(error.message); stop that \
                ringline, or use another database.
                """
            )
        } catch  where error.state == Self.lost {
            throw StoreFailure.claimLost
        } catch { throw StoreFailure(error, options) }
    }

    /// Another server owns the database.
    private static let inUse = PostgresError.State(rawValue: "RLUSE")
    /// The claim of a ``NodeClaim`` lost: a newer epoch exists.
    private static let lost = PostgresError.State(rawValue: "RLLOS")

    private static func inUse(by row: RowBeforeClaim) -> PostgresError {
        PostgresError(state: inUse, message: row.node, statement: "claim")
    }

    private func readRow(on connection: Connection) throws(PostgresError) -> RowBeforeClaim? {
        guard let row = try connection.run(Self.read).first else { return nil }
        return RowBeforeClaim(
            epoch: row.int64(0),
            ticket: row.int64(1),
            isReleased: row.int64(2) != 0,
            node: row.text(3),
            leaseLeft: row.int64(4),
            leaseEnd: row.int64(5),
            isConnected: row.int64(6) != 0
        )
    }

    /// Returns whether the database may be claimed.
    ///
    /// A server that was killed and starts again on the same machine need not wait for the lease of its previous run:
    /// the connection of that run is closed.
    private func mayBeClaimed(_ row: RowBeforeClaim) -> Bool {
        row.isReleased || row.leaseLeft == 0 || !row.isConnected && row.node == options.machine
    }

    /// Raises the epoch, unless it is another one than `epoch`, or the row has changed since it was read as `found`.
    /// - Returns: `nil` if the row has changed: another server has claimed, or the owner has committed.
    private func attempt(
        after epoch: Int64,
        _ found: RowBeforeClaim?,
        on connection: Connection
    ) throws(PostgresError) -> (claim: Claim, uncleanStarts: Int64)? {
        let parameters = options.parameters {
            $0.add(epoch)
            $0.add(found?.ticket)
            $0.add(found?.leaseEnd)
            $0.add(nonce)
            $0.add(options.leaseMilliseconds)
            addServer(to: &$0)
            $0.add(options.nodeClaim.map { Int64(clamping: $0.above.rawValue) } ?? epoch)
        }
        let lock = Connection.Step(Self.lock, options.parameters { $0.add(epoch) })
        let steps = [lock, Connection.Step(Self.claim, parameters)]
        let rows = try locking(on: connection, steps, evictingUpTo: epoch)
        guard let before = rows[0].first, let row = rows[1].first else { return nil }
        return (Claim(epoch: row.int64(0), nonce: nonce, before: (epoch, before.int64(0))), row.int64(1))
    }

    /// Adds the values that name this server in the row.
    private func addServer(to parameters: inout Parameters) {
        parameters.add(options.machine)
        parameters.add(Int64(getpid()))
        parameters.add(options.nodeClaim?.node.text ?? "")
        parameters.add(options.nodeClaim?.address ?? "")
    }

    /// Runs steps of which the first one locks the row, in a transaction.
    ///
    /// If the lock is not free after 200 ms, the connection that the row names is closed, because it probably holds the
    /// lock: it belongs to an owner that is frozen, or to this server before it connected again, and a commit on it may
    /// wait for a standby. The connection of a claim after `epoch` stays: its server has been faster.
    private func locking(
        on connection: Connection,
        _ steps: [Connection.Step],
        evictingUpTo epoch: Int64
    ) throws(PostgresError) -> [Rows] {
        for _ in 0..<20 {
            do {
                let rows = try connection.run(
                    [Connection.Step(Self.begin), Connection.Step(Self.limit)] + steps + [Self.end]
                )
                return Array(rows[2..<(2 + steps.count)])
            } catch  where error.state == .lockNotAvailable {
                _ = try connection.run(Self.evict, options.parameters { $0.add(epoch) })
            }
        }
        throw PostgresError(state: .lockNotAvailable, message: "the row stays locked", statement: steps[0].name)
    }

    // MARK: Owning

    /// Returns the fence: the first statement of each transaction of the owner, which also renews the lease.
    ///
    /// It fails with ``PostgresError/State/deposed`` if another server owns the database, and with
    /// ``PostgresError/State/repeated`` if `ticket` is committed already. `ticket` is the newest of the transaction;
    /// `nil` = the transaction contains no commit.
    func fence(_ claim: Claim, ticket: UInt64?) -> Connection.Step {
        let parameters = options.parameters {
            $0.add(claim.epoch)
            $0.add(claim.nonce)
            $0.add(ticket.map { Int64($0) })
            $0.add(options.leaseMilliseconds)
        }
        return Connection.Step(Self.fence, parameters)
    }

    /// Returns the statement that renews the lease while the owner reads its state; it returns no row if another server
    /// owns the database, or the owner has released it.
    ///
    /// The fence would renew the lease of a released row: a renewal may be under way when the owner has read its state.
    func renewal(_ claim: Claim) -> Connection.Step {
        let parameters = options.parameters {
            for number in [claim.epoch, claim.nonce, options.leaseMilliseconds] { $0.add(number) }
        }
        return Connection.Step(Self.renewal, parameters)
    }

    /// Enters the owner's new connection into the row, and reads the newest ticket.
    ///
    /// As this writes, its commit waits for the synchronous standby, if there is one. All earlier commits are then
    /// durable as well, so the ticket may be reported as durable.
    /// - Returns: The newest ticket that is committed, 0 = none; `nil` if another server owns the database.
    func resume(_ claim: Claim, on connection: Connection) throws(PostgresError) -> UInt64? {
        let parameters = options.parameters {
            for number in [claim.epoch, claim.nonce, options.leaseMilliseconds] { $0.add(number) }
        }
        let resume = Connection.Step(Self.resume, parameters)
        if let row = try locking(on: connection, [resume], evictingUpTo: claim.epoch)[0].first {
            return UInt64(max(0, row.int64(0)))
        }
        // A standby that has taken over may lack even the claim. It is made again if the row is the one that the claim
        // has found. Any other row means that another server has claimed since, or that the database lacks much more.
        let again = options.parameters {
            for number in [claim.epoch, claim.nonce, options.leaseMilliseconds] { $0.add(number) }
            addServer(to: &$0)
            for number in [claim.before.epoch, claim.before.nonce] { $0.add(number) }
        }
        let reclaim = Connection.Step(Self.reclaim, again)
        return try locking(on: connection, [reclaim], evictingUpTo: claim.epoch)[0].first == nil ? nil : 0
    }

    /// Releases the database to ``heir``, so that the next server claims it at once and counts no unclean start.
    func release(_ claim: Claim, on connection: Connection) throws(PostgresError) {
        let parameters = options.parameters {
            for number in [claim.epoch, claim.nonce] { $0.add(number) }
            $0.add(heir.withLock { $0 }?.text ?? "")
        }
        try connection.run([Connection.Step(Self.release, parameters)])
    }

    /// Aborts an abandoned claim that still waits for its standby.
    ///
    /// Without this, PostgreSQL's process would hold the lock on the row until the standby responds. If it fails, the
    /// next claim waits for that, and for the end of the lease.
    func abandonClaim(on lost: Connection) {
        let wait = ResponseWait(wakeUp: WakeUp()) { _, waited in waited < .seconds(5) }
        // See above: after a failure the next claim only waits longer.
        guard let connection = try? Connection.connect(options, for: .register, waiting: wait) else { return }
        let backend = options.parameters { $0.add(lost.backend) }
        _ = try? connection.run(Self.endWait, backend)  // the same
        // The claim becomes visible only when its connection has ended, which its lock on the row tells. The statement
        // that releases the claim must start after that to see it.
        let release = Connection.Step(Self.releaseAbandoned, options.parameters { $0.add(nonce) })
        let start = [Self.begin, Self.limitRelease, Self.lockAbandoned].map { Connection.Step($0) }
        _ = try? connection.run(start + [release, Self.end])  // the same
    }

    static let begin = SQL("begin", "BEGIN")
    static let commit = SQL("commit", "COMMIT")
    private static let end = Connection.Step(commit)
    static let limit = SQL("limit the wait", "SET LOCAL lock_timeout = \(lockMilliseconds)")

    private static let read = SQL(
        "read owner",
        """
        SELECT epoch, ticket, released, node,
            greatest(0, ceil(extract(epoch FROM until - clock_timestamp()) * 1000))::bigint,
            (extract(epoch FROM until) * 1000000)::bigint,
            EXISTS (SELECT FROM pg_stat_activity a
                WHERE a.pid = o.backend AND coalesce(a.backend_start, o.backend_start) = o.backend_start)
        FROM owner o WHERE slot = 0
        """
    )

    /// The assignments that enter the connection on which they run into the row.
    private static let ownConnection = """
        backend = pg_backend_pid(),
            backend_start = (SELECT a.backend_start FROM pg_stat_activity a WHERE a.pid = pg_backend_pid())
        """

    /// Locks the row before a claim; the statement of the claim then sees what other servers have committed until now.
    ///
    /// A row that another server has claimed meanwhile is not locked, so that the claim does not wait for that server.
    private static let lock = SQL("lock owner row", "SELECT claim FROM owner WHERE slot = 0 AND epoch = $1 FOR UPDATE")

    private static let claim = SQL(
        "claim",
        """
        WITH claimed AS (
            UPDATE owner SET epoch = greatest(epoch, $10) + 1, claim = $4, ticket = 0, released = false,
                until = clock_timestamp() + $5 * interval '1 ms', node = $6, process = $7, node_id = $8, address = $9,
                heir = '', \(ownConnection)
            WHERE slot = 0 AND epoch = $1
                AND ($2 IS NULL OR ticket = $2 AND (extract(epoch FROM until) * 1000000)::bigint = $3)
            RETURNING epoch
        ), counted AS (
            UPDATE meta SET value = least(greatest(value, 0), \(StorableRange.counts.upperBound)) + 1
            WHERE name = 'crashes' AND EXISTS (SELECT FROM claimed)
        ), \(noted(lossIf: "$10 > $1"))
        SELECT epoch, (SELECT value FROM meta WHERE name = 'crashes') FROM claimed
        """
    )

    /// The part of a claim that records for operators that the database had lost claims.
    private static func noted(lossIf condition: String) -> String {
        """
        noted AS (
            INSERT INTO meta SELECT 'claims_lost_at', (extract(epoch FROM clock_timestamp()) * 1000)::bigint
            FROM claimed WHERE \(condition) ON CONFLICT (name) DO UPDATE SET value = excluded.value
        )
        """
    }

    private static let evict = SQL(
        "end the owner's connection",
        """
        SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a, owner o
        WHERE o.slot = 0 AND o.epoch <= $1 AND a.pid = o.backend AND a.backend_start = o.backend_start
            AND a.pid <> pg_backend_pid()
        """
    )

    private static let fence = SQL("fence", "SELECT fence($1, $2, $3, $4)")

    private static let renewal = SQL(
        "renew the lease",
        """
        UPDATE owner SET until = clock_timestamp() + $3 * interval '1 ms'
        WHERE slot = 0 AND epoch = $1 AND claim = $2 AND NOT released RETURNING epoch
        """
    )

    private static let resume = SQL(
        "resume",
        """
        UPDATE owner SET until = clock_timestamp() + $3 * interval '1 ms', \(ownConnection)
        WHERE slot = 0 AND epoch = $1 AND claim = $2 RETURNING ticket
        """
    )

    private static let reclaim = SQL(
        "claim again",
        """
        WITH claimed AS (
            UPDATE owner SET epoch = $1, claim = $2, ticket = 0, released = false,
                until = clock_timestamp() + $3 * interval '1 ms', node = $4, process = $5, node_id = $6, address = $7,
                heir = '', \(ownConnection)
            WHERE slot = 0 AND epoch = $8 AND claim = $9 RETURNING epoch
        ), counted AS (
            UPDATE meta SET value = value + 1 WHERE name = 'crashes' AND EXISTS (SELECT FROM claimed)
        ), \(noted(lossIf: "true"))
        SELECT epoch FROM claimed
        """
    )

    private static let endWait = SQL(
        "end the claim's connection",
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE pid = $1 AND wait_event = 'SyncRep' AND application_name = current_setting('application_name')
        """
    )

    /// As long as this server waits for the release: a later one could meet a claim that follows.
    private static let limitRelease = SQL("limit the release", "SET LOCAL lock_timeout = 5000")
    private static let lockAbandoned = SQL("lock the claimed row", "SELECT FROM owner WHERE slot = 0 FOR UPDATE")

    private static let releaseAbandoned = SQL(
        "release the abandoned claim",
        """
        WITH freed AS (
            UPDATE owner SET released = true, heir = '', until = clock_timestamp()
            WHERE slot = 0 AND claim = $1 AND NOT released RETURNING epoch
        )
        UPDATE meta SET value = greatest(0, value - 1) WHERE name = 'crashes' AND EXISTS (SELECT FROM freed)
        """
    )

    private static let release = SQL(
        "release",
        """
        WITH freed AS (
            UPDATE owner SET released = true, heir = $3, until = clock_timestamp()
            WHERE slot = 0 AND epoch = $1 AND claim = $2 RETURNING epoch
        )
        UPDATE meta SET value = greatest(0, value - 1) WHERE name = 'crashes' AND EXISTS (SELECT FROM freed)
        """
    )
}
