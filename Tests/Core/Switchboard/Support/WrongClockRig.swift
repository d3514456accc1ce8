import CallCore
import CallPorts
import CallWire
import Testing
import Threads
import TimeZones

@testable import Switchboard

/// A server with schedules whose wall clock is set wrong and right again, by the true time of the world.
///
/// The times of a test are seconds of the true time since the rig was made. The server's clock is the real one
/// (`ServerTime`), with readings that the rig makes up.
final class WrongClockRig {
    /// What became of a time of a schedule.
    struct Outcome: Equatable, CustomStringConvertible {
        let occurrence: Int64
        /// When it rang, or was missed.
        let at: Int64
        let isMissed: Bool
        var description: String { "\(isMissed ? "missed" : "rang") \(occurrence) at \(at)" }
    }

    /// A full minute, so that a schedule may be due in the first second.
    static let start: Int64 = 1_700_000_040

    private(set) var world: SwitchboardWorld
    private var time: ServerTime
    private var known = WallClock.agreeing
    private(set) var truth = start * 1_000
    private var boot: Int64 = 50_000
    /// How far the wall clock is ahead of the true time, in milliseconds.
    private var error: Int64
    private var seen = 0
    private(set) var outcomes: [Outcome] = []

    /// A server that starts with a wall clock that many seconds ahead.
    init(ahead: Int64 = 0) {
        error = ahead * 1_000
        time = ServerTime(ClockReading(boot: boot, wall: truth + ahead * 1_000))
        world = SwitchboardWorld(at: Moment(milliseconds: truth + ahead * 1_000))
    }

    /// The seconds since the rig was made.
    var elapsed: Int64 { truth / 1_000 - Self.start }
    /// The wall clock.
    var wall: Int64 { truth + error }

    /// The occurrences that rang, each with the second in which it did.
    var rings: [Int64] { outcomes.filter { !$0.isMissed }.map(\.at) }
    /// The occurrences that were missed, by the history.
    var missed: [Int64] { outcomes.filter(\.isMissed).map(\.occurrence) }
    /// How often history was deleted since the last start.
    var deletions: Int {
        world.changes.count { change in if case .historyForgotten = change { true } else { false } }
    }

    /// Lets time pass, up to a second since the start.
    func run(to second: Int64) {
        while elapsed < second {
            truth += 500
            boot += 500
            look()
        }
    }

    /// Sets the wall clock that many seconds ahead of the true time.
    func set(ahead seconds: Int64) {
        error = seconds * 1_000
        look()
    }

    /// The machine sleeps: its boot clock counts this time.
    func sleep(_ seconds: Int64) {
        truth += seconds * 1_000
        boot += seconds * 1_000
        time.take(ClockReading(boot: boot, wall: wall))
        world.sleep(.milliseconds(time.now - world.now.milliseconds))
        tell()
        world.give(.deadlineReached)
        look()
    }

    /// The virtual machine is paused: its boot clock stands still.
    func pause(_ seconds: Int64) {
        truth += seconds * 1_000
        look()
    }

    /// Stops the server, and starts it at a second with a wall clock that many seconds ahead.
    func restart(at second: Int64, ahead seconds: Int64) {
        let stored = world.kept.state(uncleanStarts: 0)
        boot += (second - elapsed) * 1_000
        truth = (Self.start + second) * 1_000
        error = seconds * 1_000
        time = ServerTime(ClockReading(boot: boot, wall: wall))
        known = .agreeing
        let now = Moment(milliseconds: wall)
        world = SwitchboardWorld(stored: stored, seed: UInt64(second), at: now)
        seen = 0
        world.wait(0)
        record()
    }

    private func look() {
        time.take(ClockReading(boot: boot, wall: wall))
        tell()
        world.wait(.milliseconds(max(0, time.now - world.now.milliseconds)))
        record()
    }

    /// Tells the switchboard of the wall clock, as the gateway does before it reports a deadline.
    private func tell() {
        let clock = WallClock(
            lead: .milliseconds(time.date - time.now),
            corrected: .milliseconds(time.corrected),
            isSteady: time.isSteady,
            agrees: !time.hasLeapt
        )
        if clock != known { world.give(.wallClock(clock)) }
        known = clock
    }

    private func record() {
        for change in world.changes.dropFirst(seen) {
            guard case .call(let call) = change, let ring = call.scheduled, !told.contains(call.number) else {
                continue
            }
            told.insert(call.number)
            let isMissed = call.reason == .missed
            outcomes.append(
                Outcome(
                    occurrence: ring.occurrence.milliseconds / 1_000 - Self.start,
                    at: elapsed,
                    isMissed: isMissed
                )
            )
        }
        seen = world.changes.count
    }
    private var told: Set<CallNumber> = []

    // MARK: Schedules

    private static func text(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Makes the schedule `id`, which is due that many seconds after the rig was made, once or every day.
    @discardableResult
    func make(_ id: String = "s", due: Int64, daily: Bool, more: String = "") throws -> Reply {
        let second = Self.start + due
        let day = CivilDay.text(second / 86_400)
        let at = "\(Self.text(second % 86_400 / 3_600)):\(Self.text(second % 3_600 / 60))"
        let dates = daily ? #""days":["mon","tue","wed","thu","fri","sat","sun"]"# : #""on":"\#(day)""#
        let body = #"{"at":"\#(at)","timeZone":"UTC","from":{"id":"wake"},"ring":10,\#(dates)\#(more)}"#
        let rig = ScheduleRig(world)
        return try rig.ask(.put(rig.id(id), try ScheduleForm(body: Array(body.utf8))))
    }

    /// The next call of the schedule `s` as its user sees it; `nil` = the schedule is gone, or has none.
    func next(_ id: String = "s") throws -> Int64? {
        let rig = ScheduleRig(world)
        let reply = try rig.ask(.one(rig.id(id)))
        return reply["next"].flatMap { Int64($0) }.map { $0 / 1_000 - Self.start }
    }
}

/// A date as ISO 8601 writes it.
private enum CivilDay {
    static func text(_ day: Int64) -> String { CivilDate(daysSince1970: Int(day)).description }
}
