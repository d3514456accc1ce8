import CallPorts
import Postgres

/// How a start waits for the database: without a limit, until `isAbandoned` or `OwnerWait.isOver` ends the wait.
///
/// There is no limit because, if a claim that waits for its standby were cancelled, it would be visible but not
/// replicated.
final class StartWait {
    private let options: StoreOptions
    private let wakeUp: WakeUp
    private let isAbandoned: () -> Bool
    /// Whether the operator was told that the start waits.
    private var isReported = false

    init(_ options: StoreOptions, _ wakeUp: WakeUp, isAbandoned: @escaping () -> Bool) {
        self.options = options
        self.wakeUp = wakeUp
        self.isAbandoned = isAbandoned
    }

    /// Whether the wait must end.
    var isOver: Bool { isAbandoned() || options.ownerWait.isOver() }

    /// The rules for the waits for a response.
    var responseWait: ResponseWait {
        ResponseWait(wakeUp: wakeUp) { [self] statement, waited in
            if isAbandoned() { return false }
            guard waited >= .milliseconds(options.stallMilliseconds) else { return true }
            report(
                """
                The database \(options.settings.shown) has not responded for \(options.stallMilliseconds) ms; it \
                may wait for its standby, for a lock or for its disk, or the network may be cut. (\(statement))
                """
            )
            return !options.ownerWait.isOver()
        }
    }

    /// Connects, as `Connection.open(_:for:waiting:)` does, but waits while the database cannot be reached.
    func connection(for purpose: Connection.Purpose) throws(StoreFailure) -> Connection {
        while true {
            do throws(PostgresError) {
                return try Connection.connect(options, for: purpose, waiting: responseWait)
            } catch {
                let failure = StoreFailure(connecting: error, options)
                guard error.mayPass, !isOver else { throw failure }
                report(failure.message)
                wakeUp.wait(until: .now + .milliseconds(100))
            }
        }
    }

    private func report(_ reason: String) {
        if !isReported { options.ownerWait.onDelay(reason) }
        isReported = true
    }
}

extension PostgresError {
    /// Whether an attempt to connect may succeed later, without anybody changing a setting: the server is down, or is
    /// busy, or fails over to a standby.
    fileprivate var mayPass: Bool { endsConnection || state == .tooManyConnections || state == .readOnly }
}
