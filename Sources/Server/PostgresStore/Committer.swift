import CallPorts
import Postgres
import Storing

/// The store after it has claimed the database, on the writer's thread: it commits, and renews the lease.
///
/// After its connection was lost, it reads from the database which commits are durable, and sends the others again.
final class Committer {
    private let options: StoreOptions
    private let ownerTable: OwnerTable
    private let claim: OwnerTable.Claim
    private let queries: QueryThread
    private let queue: WriterQueue
    /// Interrupts waits for the database.
    private let wakeUp: WakeUp
    private let report: @Sendable (StoreReport) -> Void

    /// The connection; `nil` after it was lost, while it is unknown whether the last transaction was committed.
    private var connection: Connection?
    /// The newest ticket that was reported as durable.
    private var reported: UInt64 = 0
    private var recentCommits: RecentCommits
    /// The newest ticket that the database had left when it lost commits; `nil` once the loss is reported.
    private var lostAfter: UInt64?
    private var retention = Retention()
    /// When the lease must be renewed at the latest.
    private var renewAt: ContinuousClock.Instant
    private var stallClock: StallClock
    /// Whether a stall was reported, and no recovery since.
    private var isStalled = false
    /// The queries that were taken from the queue and must see the commits that are being saved; they fail in a stall.
    private var heldQueries: [WriterQueue.SubmittedQuery] = []
    /// When a store that is closed while it is stalled gives up, if the database does not respond before.
    private var givesUpAt: ContinuousClock.Instant?
    /// Whether a wait for the database was ended because the store was dropped, or closed while it is stalled.
    private var hasGivenUp = false
    /// Whether the store only releases the database any more.
    private var isReleasing = false

    /// The result of ``save(_:)``.
    private enum Outcome {
        /// All commits are durable.
        case done
        /// The store was dropped, or it was closed and a last attempt has failed.
        case givenUp
        /// Another server owns the database.
        case deposed
    }

    /// The reason why an attempt to commit ended without success.
    private enum AttemptFailure: Error {
        /// A further attempt may succeed.
        case failed(StoreFailure)
        /// The database already had a commit when it was sent, so the newest ticket must be read again.
        case repeated(StoreFailure)
        /// Another server owns the database.
        case deposed(StoreFailure)
    }

    init(
        _ options: StoreOptions,
        _ ownerTable: OwnerTable,
        _ claim: OwnerTable.Claim,
        _ connection: Connection,
        _ queries: QueryThread,
        _ queue: WriterQueue,
        _ wakeUp: WakeUp,
        _ report: @escaping @Sendable (StoreReport) -> Void
    ) {
        self.options = options
        self.ownerTable = ownerTable
        self.claim = claim
        self.connection = connection
        self.queries = queries
        self.queue = queue
        self.wakeUp = wakeUp
        self.report = report
        recentCommits = RecentCommits(limit: options.recentCommitsLimit)
        // The lease is renewed at once: a third of it may have passed since the last renewal while the state was read.
        renewAt = .now
        stallClock = StallClock(
            stallMilliseconds: options.stallMilliseconds,
            leaseMilliseconds: options.leaseMilliseconds,
            at: .now
        )
        connection.responseWait = responseWait
    }

    private static func renewalInterval(_ options: StoreOptions) -> Duration {
        .milliseconds(options.leaseMilliseconds / 3)
    }

    /// Serves the queue until the store is closed or dropped.
    func serve() {
        while true {
            let taken = queue.takeAll(until: retention.isUnfinished ? .now : renewAt)
            guard !taken.isAbandoned else { return }
            heldQueries = taken.queries
            var outcome = Outcome.done
            if !taken.commits.isEmpty || retention.isUnfinished || .now >= renewAt { outcome = save(taken.commits) }
            switch outcome {
            case .done:
                queries.put(heldQueries)
                heldQueries = []
            case .givenUp: return
            case .deposed: return refuseEverything()
            }
            if taken.isClosing { return release() }
        }
    }

    /// Releases the database.
    ///
    /// If this fails, or takes longer than `stallMilliseconds`, the lease runs out, and the next start counts an
    /// unclean start, which is the safe side.
    private func release() {
        guard let connection else { return }
        isReleasing = true
        _ = try? ownerTable.release(claim, on: connection)  // see above: a failure is harmless
    }

    /// Fails all queries and drops all commits until the store is closed or dropped, because another server owns the
    /// database.
    private func refuseEverything() {
        let failure = deposition
        while true {
            let taken = queue.takeAll(until: .now + .seconds(3_600))
            refuse(taken.queries, failure)
            if taken.isClosing || taken.isAbandoned { return }
        }
    }

    private var deposition: StoreFailure { .deposed(options) }

    // MARK: Saving

    /// Makes all these commits durable, with as many attempts as that takes.
    ///
    /// If the store stalls meanwhile, ``heldQueries`` fail and are removed. No failure is taken for permanent: commits
    /// must be durable in order, and a commit that was left out would be missing after the next start, although the
    /// calls have gone on with it.
    private func save(_ commits: [WriterQueue.Commit]) -> Outcome {
        stallClock.begin(at: .now)
        var pending = commits[...]
        var pauseMilliseconds: Int64 = 50
        var hasReconnected = connection == nil
        var hasReread = false
        while true {
            do throws(AttemptFailure) {
                try attempt(&pending)
                return .done
            } catch {
                guard !hasGivenUp else { return .givenUp }
                let reason: StoreFailure
                switch error {
                case .deposed(let failure):
                    report(.deposed(failure))
                    refuseHeld(failure)
                    return .deposed
                case .repeated(let failure):
                    if !hasReread {
                        hasReread = true
                        continue
                    }
                    reason = failure
                case .failed(let failure):
                    // A single lost connection is no stall: a server that has only restarted can be reached at once.
                    if connection == nil, !hasReconnected {
                        hasReconnected = true
                        continue
                    }
                    reason = failure
                }
                let wasClosing = queue.isClosing
                stall(reason)
                guard !wasClosing, pause(pauseMilliseconds, reason) else { return .givenUp }
                pauseMilliseconds = min(pauseMilliseconds * 2, 1_000)
            }
        }
    }

    /// Commits everything in `pending`, in transactions of a limited size.
    ///
    /// Removes from `pending` what is durable, also if a later transaction fails.
    private func attempt(_ pending: inout ArraySlice<WriterQueue.Commit>) throws(AttemptFailure) {
        if connection == nil { try resume(&pending) }
        repeat {
            try transaction(Self.nextPart(of: pending), &pending)
        } while !pending.isEmpty
    }

    /// The estimated size in bytes from which a transaction takes no further commit.
    private static let transactionBytes = 8 << 20

    /// Returns the first commits, as many as go into one transaction.
    ///
    /// After a lost connection, the same commits must go into the transaction again, because the fence recognizes it by
    /// the ticket of its last commit.
    private static func nextPart(of pending: ArraySlice<WriterQueue.Commit>) -> ArraySlice<WriterQueue.Commit> {
        var weight = 0
        return pending.prefix { commit in
            defer { weight += commit.weight }
            return weight < transactionBytes
        }
    }

    /// Commits the first commits of `pending` in one transaction, and removes them from `pending`.
    private func transaction(
        _ part: ArraySlice<WriterQueue.Commit>,
        _ pending: inout ArraySlice<WriterQueue.Commit>
    ) throws(AttemptFailure) {
        var batch = ChangeBatch()
        for commit in part { for change in commit.changes { batch.append(change) } }
        var steps = [Connection.Step(OwnerTable.begin), ownerTable.fence(claim, ticket: part.last?.ticket.rawValue)]
        steps += batch.finish()
        if batch.asksToForget { retention.begin() }
        let forgets = retention.isUnfinished
        if forgets { steps += Retention.steps }
        steps.append(Connection.Step(OwnerTable.commit))
        let rows = try commit(steps)
        if forgets { retention.committed(rows[steps.count - 2]) }
        confirm(part, &pending)
    }

    /// Sends a transaction and waits for its results, however long that takes: a commit is never cancelled.
    private func commit(_ steps: [Connection.Step]) throws(AttemptFailure) -> [Rows] {
        guard let connection else { throw .failed(StoreFailure("There is no connection.")) }
        do throws(PostgresError) {
            let now = ContinuousClock.now
            stallClock.begin(at: now)
            try connection.send(steps)
            renewAt = now + Self.renewalInterval(options)
            let rows = try connection.receive()
            stallClock.confirm(sentAt: now)
            return rows
        } catch { throw attemptFailure(after: error) }
    }

    /// Returns the reason for a failed transaction, and drops the connection if it can no longer be used.
    private func attemptFailure(after error: PostgresError) -> AttemptFailure {
        switch error.state {
        case .deposed: return .deposed(deposition)
        // The same commits were sent on an earlier connection, and have become durable after `resume` had read the
        // ticket. On the next connection, `resume` finds them.
        case .repeated:
            connection = nil
            return .repeated(StoreFailure(error, options))
        default: if error.endsConnection || connection?.isLost == true { connection = nil }
        }
        return .failed(StoreFailure(error, options))
    }

    /// Reports the commits `part`, which are durable now, and removes them from the beginning of `pending`.
    private func confirm(
        _ part: ArraySlice<WriterQueue.Commit>,
        _ pending: inout ArraySlice<WriterQueue.Commit>
    ) {
        if isStalled { report(.recovered) }
        isStalled = false
        pending = pending.dropFirst(part.count)
        guard let last = part.last?.ticket else { return }
        let now = ContinuousClock.now
        for commit in part { recentCommits.append(commit, at: now) }
        reported = last.rawValue
        report(.committed(upTo: last))
    }

    // MARK: After a lost connection

    /// Connects again, and reads from the database which commits are durable.
    ///
    /// Removes these from `pending`. If the database has lost commits that were reported as durable, sends them again.
    private func resume(_ pending: inout ArraySlice<WriterQueue.Commit>) throws(AttemptFailure) {
        let opened: Connection
        let found: UInt64?
        let now = ContinuousClock.now
        do throws(StoreFailure) {
            opened = try Connection.open(options, for: .commits, waiting: responseWait)
            do throws(PostgresError) { found = try ownerTable.resume(claim, on: opened) } catch {
                throw StoreFailure(error, options)
            }
        } catch { throw .failed(error) }
        guard let found else { throw .deposed(deposition) }
        connection = opened
        stallClock.confirm(sentAt: now)
        queries.reconnect()
        let durable = pending.prefix { $0.ticket.rawValue <= found }
        if !durable.isEmpty { confirm(durable, &pending) }
        if found < reported {
            lostAfter = min(found, lostAfter ?? found)
            try resendLost(after: found)
        }
        reportLoss()
    }

    /// Reports the commits that the database had lost, once all that were sent again are durable.
    ///
    /// A connection may be lost while they are sent again, so this may be several connections later.
    private func reportLoss() {
        guard let first = lostAfter else { return }
        lostAfter = nil
        let resent = recentCommits.commits(after: first).count
        report(.behind(resent: resent, lost: max(0, Int(reported - first) - resent)))
    }

    /// Sends again the commits after the ticket `found`, which were reported as durable, and which the database has
    /// lost in a fail-over.
    private func resendLost(after found: UInt64) throws(AttemptFailure) {
        // A deletion of history may be among what was lost.
        retention.begin()
        var pending = recentCommits.commits(after: found)[...]
        while !pending.isEmpty {
            let part = Self.nextPart(of: pending)
            var batch = ChangeBatch()
            for commit in part { for change in commit.changes { batch.append(change) } }
            let begin = [
                Connection.Step(OwnerTable.begin), ownerTable.fence(claim, ticket: part.last?.ticket.rawValue),
            ]
            // After a failure the connection is dropped, so that the next attempt reads the newest ticket again.
            do throws(AttemptFailure) {
                _ = try commit(begin + batch.finish() + [Connection.Step(OwnerTable.commit)])
            } catch {
                connection = nil
                throw error
            }
            pending = pending.dropFirst(part.count)
        }
    }

    // MARK: Stalls

    /// The rules for every wait for a response.
    ///
    /// When ``stallClock`` says so, a stall is reported, and queries fail. The wait goes on: if a commit that waits for
    /// its standby were cancelled, its changes would be visible but not replicated. Only the end of the store ends the
    /// wait.
    private var responseWait: ResponseWait {
        ResponseWait(wakeUp: wakeUp) { [unowned self] _, waited in
            hasGivenUp = !goesOn(afterWaiting: waited)
            return !hasGivenUp
        }
    }

    private func goesOn(afterWaiting waited: Duration) -> Bool {
        if queue.isAbandoned { return false }
        if isReleasing { return waited < .milliseconds(options.stallMilliseconds) }
        if !isStalled, stallClock.isLate(at: .now) { stall(unconfirmed) }
        guard isStalled else { return true }
        refuseQueued(unconfirmed)
        guard queue.isClosing else { return true }
        let end = givesUpAt ?? .now + .milliseconds(options.stallMilliseconds)
        givesUpAt = end
        return .now < end
    }

    private var unconfirmed: StoreFailure {
        StoreFailure(
            """
            The database \(options.settings.shown) has not confirmed a commit for \(options.stallMilliseconds) ms; \
            it may wait for its standby, for a lock or for its disk, or the network may be cut.
            """
        )
    }

    /// Reports, once in a stall, that nothing can be written, and fails the queries.
    private func stall(_ failure: StoreFailure) {
        if !isStalled { report(.stalled(failure)) }
        isStalled = true
        // A query must see the changes that were queued before it, and these cannot be written.
        refuseHeld(failure)
    }

    private func refuse(_ queries: [WriterQueue.SubmittedQuery], _ failure: StoreFailure) {
        for submitted in queries { report(.queryResult(submitted.id, .failed(failure))) }
    }

    /// Reports the queries that were taken from the queue as failed.
    private func refuseHeld(_ failure: StoreFailure) {
        refuse(heldQueries, failure)
        heldQueries = []
    }

    /// Takes the queries out of the queue, and reports them as failed.
    private func refuseQueued(_ failure: StoreFailure) { refuse(queue.takeQueries(until: .now).queries, failure) }

    /// Waits before the next attempt, and fails the queries that arrive meanwhile.
    ///
    /// The wait ends early if the store is closed.
    /// - Returns: `false` if the store was dropped.
    private func pause(_ milliseconds: Int64, _ failure: StoreFailure) -> Bool {
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        while ContinuousClock.now < end {
            refuseQueued(failure)
            if queue.isAbandoned { return false }
            if queue.isClosing { return true }
            wakeUp.wait(until: end)
        }
        return true
    }
}
