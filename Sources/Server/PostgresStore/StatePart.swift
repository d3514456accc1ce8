import CallPorts
import Postgres
import Storing
import Threads

/// Reads the registrations that a start needs, on a thread and a connection of its own, while the writer reads the live
/// calls: nobody is served meanwhile.
final class StatePart: Sendable {
    private let result = Monitor<Result<StoredState, PostgresError>?>(nil)
    private let isOver = Monitor(false)
    /// Interrupts waits for the database.
    private let wakeUp = WakeUp()

    /// Begins to read.
    ///
    /// `proof`: A statement that returns no row on a server without this claim. After a fail-over, the connection may be
    /// one to a former primary.
    init(
        _ options: StoreOptions,
        proof: Connection.Step,
        damages: DamageLog,
        on threads: StoreThreads
    ) throws(StoreFailure) {
        let (result, isOver, wakeUp) = (result, isOver, wakeUp)
        try threads.run(named: "store state") {
            let found = Result { () throws(PostgresError) -> StoredState in
                let wait = ResponseWait(wakeUp: wakeUp) { _, _ in !isOver.withLock { $0 } }
                let connection = try Connection.connect(options, for: .commits, waiting: wait)
                guard try connection.run([proof])[0].first != nil else {
                    throw PostgresError(state: .deposed, message: "the server lacks the claim", statement: "")
                }
                return try QueryRunner(connection, damages: damages).registrations()
            }
            result.withLock { $0 = found }
        }
    }

    /// Waits for the part, as long as `goesOn` says so; returns `nil` if it could not be read.
    func value(while goesOn: () -> Bool) -> StoredState? {
        while true {
            // If the database has failed, the writer's own connection tells why.
            if let found = result.wait(until: .now + .milliseconds(100), for: { $0 }) { return try? found.get() }
            if !goesOn() { end() }
        }
    }

    /// Ends a wait for the database, without waiting for the end of the thread.
    func end() {
        isOver.withLock { $0 = true }
        wakeUp.signal()
    }
}

extension OwnerTable {
    /// Returns the statement that returns a row only on a server that has this claim.
    func proof(_ claim: Claim) -> Connection.Step {
        let parameters = options.parameters { for number in [claim.epoch, claim.nonce] { $0.add(number) } }
        return Connection.Step(Self.proof, parameters)
    }

    private static let proof = SQL(
        "proof of the claim",
        "SELECT epoch FROM owner WHERE slot = 0 AND epoch = $1 AND claim = $2"
    )
}
