import CallCore
import CallPorts
import Postgres
import Storing
import Threads

/// The threads of a node's register: one that reads the row `owner` and keeps the list of nodes, and one that claims.
final class RegisterThreads: Sendable {
    enum Ending { case closing, abandoned }

    /// The requests, and the end.
    private struct Control {
        /// How many readings were requested.
        var reads = 0
        /// The claims that were requested, and the stores that were given back, in order.
        var claims: [ClaimWork] = []
        var ending: Ending?
    }

    /// A piece of work for the thread that claims.
    private enum ClaimWork: Sendable {
        case claim(after: OwnerEpoch, above: OwnerEpoch)
        case giveBack(any ReleasableStore, heir: NodeID?, done: @Sendable () -> Void)
    }

    private let options: StoreOptions
    private let entry: NodeList.Entry
    private let storeReport: @Sendable (StoreReport) -> Void
    private let report: @Sendable (OwnershipReport) -> Void
    private let thread = WriterThread<[UInt8]>()
    private let control = Monitor(Control())
    /// Interrupts waits for the database.
    private let wakeUp = WakeUp()

    /// How often the node says that it runs.
    private static let interval = Duration.seconds(1)

    init(
        _ options: StoreOptions,
        _ entry: NodeList.Entry,
        storeReport: @escaping @Sendable (StoreReport) -> Void,
        report: @escaping @Sendable (OwnershipReport) -> Void
    ) {
        self.options = options
        self.entry = entry
        self.storeReport = storeReport
        self.report = report
    }

    /// Starts the threads, and waits until the node is in the list, or until that has failed.
    /// - Returns: The secret of the nodes.
    func start() throws(StoreFailure) -> [UInt8] {
        try thread.start(named: "node register") { opened throws(StoreFailure) in
            let secret = try self.enter()
            let settings = self.entry.settings(secret)
            let claims = try self.thread.threads.run(named: "node claims") { self.serveClaims() }
            opened(secret)
            self.serve(settings)
            claims.join()
        }
    }

    func read() { control.withLock { $0.reads += 1 } }

    func claim(after epoch: OwnerEpoch, above known: OwnerEpoch) {
        control.withLock { $0.claims.append(.claim(after: epoch, above: known)) }
    }

    func giveBack(_ store: any ReleasableStore, to heir: NodeID?, done: @escaping @Sendable () -> Void) {
        control.withLock { $0.claims.append(.giveBack(store, heir: heir, done: done)) }
    }

    /// Ends the threads, and waits for their end; see `WriterThread.joinIfStarted()`.
    func end(_ ending: Ending) {
        control.withLock { $0.ending = $0.ending ?? ending }
        wakeUp.signal()
        thread.joinIfStarted()
    }

    private var isEnding: Bool { control.withLock { $0.ending != nil } }

    // MARK: The list of nodes, and the owner

    /// Brings the tables to this version, enters the node into the list, and returns the secret of the nodes.
    private func enter() throws(StoreFailure) -> [UInt8] {
        let wait = StartWait(options, wakeUp) { self.isEnding }
        let connection = try wait.connection(for: .commits)
        try Schema.prepare(connection, options) { wait.isOver }
        let secret = try NodeList.secret(on: connection, options)
        do throws(PostgresError) { try connection.run(NodeList.enter(entry, settings: entry.settings(secret))) } catch {
            throw StoreFailure(error, options)
        }
        return secret
    }

    private func serve(_ settings: String) {
        let connection = RegisterConnection(options, wakeUp)
        var seenAt = ContinuousClock.now
        while true {
            let taken = control.wait(until: seenAt + Self.interval) { control in
                guard control.reads > 0 || control.ending != nil else { return nil as Control? }
                defer { control.reads = 0 }
                return control
            }
            switch taken?.ending {
            case nil: break
            case .closing:
                // If this fails, the other nodes see soon enough that this one no longer runs.
                _ = try? connection.run { link throws(PostgresError) in try link.run([NodeList.remove(entry.id)]) }
                return
            case .abandoned: return
            }
            if let taken { read(times: taken.reads, on: connection) }
            guard .now >= seenAt + Self.interval else { continue }
            seenAt = .now
            // The next attempt is a second later. The other nodes learn of a failure that lasts from their own links.
            _ = try? connection.run { link throws(PostgresError) in
                try link.run(NodeList.enter(entry, settings: settings))
            }
        }
    }

    /// Reads the row once, and reports it for each request.
    private func read(times count: Int, on connection: RegisterConnection) {
        let result: OwnershipReport
        do throws(StoreFailure) {
            result = .row(try connection.run { link throws(PostgresError) in try OwnerRow.read(link) })
        } catch { result = .unreadable(error) }
        for _ in 0..<count { report(result) }
    }

    // MARK: Claims

    private func serveClaims() {
        while let next = nextClaimWork() {
            switch next {
            case .claim(let epoch, let known):
                if let result = claimNow(after: epoch, above: known) { report(result) }
            case .giveBack(let store, let heir, let done):
                store.close(releasingTo: heir)
                done()
            }
        }
    }

    /// Waits for the next piece of work; returns `nil` when the register ends.
    ///
    /// A register that is closed still closes the stores that were given back.
    private func nextClaimWork() -> ClaimWork? {
        control.wait { control in
            switch control.ending {
            case nil: break
            case .closing: control.claims.removeAll { if case .claim = $0 { true } else { false } }
            case .abandoned: control.claims = []
            }
            guard control.claims.isEmpty else { return .some(control.claims.removeFirst()) }
            return control.ending == nil ? nil : .some(nil)
        }
    }

    /// Claims the calls with a store; returns `nil` when the register ends.
    private func claimNow(after epoch: OwnerEpoch, above known: OwnerEpoch) -> OwnershipReport? {
        var options = options
        options.nodeClaim = NodeClaim(node: entry.id, address: entry.address, after: epoch, above: known) { [report] in
            report(.loading)
        }
        options.ownerWait.isOver = { [control, isOver = options.ownerWait.isOver] in
            control.withLock { $0.ending != nil } || isOver()
        }
        let store = PostgresCallStore(options, report: storeReport)
        do throws(StoreFailure) {
            let state = try store.open(at: Moment(milliseconds: SystemClock.wall()))
            guard !isEnding else {
                store.close()
                return nil
            }
            return .claimed(
                ClaimedStore(epoch: store.claimedEpoch, store: store, state: state, others: store.otherNodes)
            )
        } catch {
            if isEnding { return nil }
            return error == .claimLost ? .claimLost : .claimFailed(error)
        }
    }
}
