import ServerLog
import Switchboard
import Threads

extension Gateway {
    /// Logs an event of the wall clock, and suspends the deletion of history while that clock is in doubt.
    func note(_ event: ServerTime.Event) {
        switch event {
        case .leapt(let milliseconds):
            log.error(
                "the wall clock leapt; continuing with the boot clock",
                [.clockAhead(seconds: Self.seconds(milliseconds))]
            )
            feed(.clockDoubtChanged(true))
        case .accepted(let milliseconds):
            log.warning(
                "the wall clock has been steady since its leap; tokens are checked against it again",
                [.clockAhead(seconds: Self.seconds(milliseconds))]
            )
        case .agrees:
            log.notice("the wall clock and the server's clock agree again")
            feed(.clockDoubtChanged(false))
        }
    }

    /// Returns a duration rounded to whole seconds, which is precise enough for a leap.
    static func seconds(_ milliseconds: Int64) -> Int64 {
        (milliseconds + (milliseconds < 0 ? -500 : 500)) / 1_000
    }
}
