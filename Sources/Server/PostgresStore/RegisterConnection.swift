import CallPorts
import Postgres

/// The connection of a node's register, which connects again after a failure; only one thread uses it.
///
/// A statement that takes longer than a second is given up, so that a dead network is soon noticed.
final class RegisterConnection {
    private let options: StoreOptions
    private let wakeUp: WakeUp
    private var connection: Connection?
    /// The failure of the last attempt to connect, and when the next attempt follows.
    private var failed: (failure: StoreFailure, until: ContinuousClock.Instant)?

    /// The longest wait for a response.
    private static let limit = Duration.seconds(1)
    /// The time between a failure and the next attempt to connect.
    private static let pause = Duration.milliseconds(250)

    init(_ options: StoreOptions, _ wakeUp: WakeUp) {
        self.options = options
        self.wakeUp = wakeUp
    }

    /// Runs statements on the connection.
    ///
    /// If the connection was lost while it was idle, the statements run on a new one. Soon after a failed attempt to
    /// connect, this fails without another one.
    func run<Value>(_ body: (Connection) throws(PostgresError) -> Value) throws(StoreFailure) -> Value {
        if let failed, .now < failed.until { throw failed.failure }
        let wasConnected = connection != nil
        do throws(PostgresError) { return try attempt(body) } catch {
            guard wasConnected, connection == nil, error.state != .givenUp else { throw fail(error) }
        }
        do throws(PostgresError) { return try attempt(body) } catch { throw fail(error) }
    }

    private func attempt<Value>(_ body: (Connection) throws(PostgresError) -> Value) throws(PostgresError) -> Value {
        let current: Connection
        if let connection {
            current = connection
        } else {
            let wait = ResponseWait(wakeUp: wakeUp) { _, waited in waited < Self.limit }
            current = try Connection.connect(options, for: .register, waiting: wait)
        }
        connection = current
        do throws(PostgresError) { return try body(current) } catch {
            if current.isLost || error.endsConnection { connection = nil }
            throw error
        }
    }

    private func fail(_ error: PostgresError) -> StoreFailure {
        let failure = StoreFailure(connecting: error, options)
        if connection == nil { failed = (failure, .now + Self.pause) }
        return failure
    }
}
