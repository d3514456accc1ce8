import CallCore
import ServerLog
import Switchboard
import Threads

extension Gateway {
    /// Logs an event of the wall clock, and tells the switchboard.
    func note(_ event: ServerTime.Event) {
        switch event {
        case .leapt(let milliseconds):
            log.error(
                "the wall clock leapt; continuing with the boot clock",
                [.clockAhead(seconds: Self.seconds(milliseconds))]
            )
        case .accepted(let milliseconds):
            log.warning(
                "the wall clock has been steady since its leap; tokens and schedules follow it again",
                [.clockAhead(seconds: Self.seconds(milliseconds))]
            )
        case .agrees:
            log.notice("the wall clock and the server's clock agree again")
        }
        noteWallClock()
    }

    /// The wall clock's state now.
    var wallClock: WallClock {
        let lead = configuration.clock.lead()
        return WallClock(
            lead: .milliseconds(lead.milliseconds),
            corrected: .milliseconds(lead.corrected),
            isSteady: lead.isSteady,
            agrees: lead.agrees
        )
    }

    /// Tells the switchboard what is known of the wall clock, unless it knows that.
    func noteWallClock() {
        let known = wallClock
        guard switchboard != nil, known != knownWallClock else { return }
        knownWallClock = known
        feed(.wallClock(known))
    }

    /// Returns a duration rounded to whole seconds, which is precise enough for a leap.
    static func seconds(_ milliseconds: Int64) -> Int64 {
        (milliseconds + (milliseconds < 0 ? -500 : 500)) / 1_000
    }
}
