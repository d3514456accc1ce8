/// How a connection waits for a response of the server.
///
/// A commit may wait for a standby, or for a lock, without any limit. So the wait is interrupted from time to time, to
/// decide whether it goes on; also while bytes arrive that are not the response.
package struct ResponseWait {
    /// The time after which a wait is interrupted, in milliseconds.
    static let intervalMilliseconds: Int32 = 100
    static let interval = Duration.milliseconds(Int64(intervalMilliseconds))

    let wakeUp: WakeUp
    let goesOn: (_ statement: String, _ waited: Duration) -> Bool

    /// Creates the rules from all their parts.
    /// - Parameters:
    ///   - wakeUp: Interrupts a wait when it is signalled.
    ///   - goesOn: Called at each interruption, at least every 100 ms, with the name of the statement whose result is
    ///     awaited, and with the time since the request was sent. `false` ends the wait: the connection throws
    ///     ``PostgresError/State/givenUp`` and can no longer be used. The statement is not cancelled.
    package init(wakeUp: WakeUp, goesOn: @escaping (_ statement: String, _ waited: Duration) -> Bool) {
        self.wakeUp = wakeUp
        self.goesOn = goesOn
    }
}
