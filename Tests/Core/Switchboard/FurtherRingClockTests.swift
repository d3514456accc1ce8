import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("Further rings of a schedule after a start with a wrong clock")
struct FurtherRingClockTests {
    /// A schedule that rings in the second 60 for 10 s, and without a confirmation again in the seconds 130 and 200; the
    /// server starts again with a wrong clock.
    private func rig(daily: Bool = true, restartAt second: Int64, ahead: Int64) throws -> WrongClockRig {
        let rig = WrongClockRig()
        try rig.make(due: 60, daily: daily, more: #","confirm":{"every":60,"times":3}"#)
        rig.run(to: min(second, 75))
        #expect(rig.rings == [60])
        rig.restart(at: second, ahead: ahead)
        return rig
    }

    /// The outcomes of the calls since the last start, the oldest first.
    private func reasons(_ rig: WrongClockRig) -> [String] { ScheduleRig(rig.world).outcomes }

    @Test(
        "Set right soon after the start, it rings on, wherever the kill was",
        arguments: [125, 200, 600, 50_000, 3 * 86_400 + 7_000, -90, -600, -50_000, -3 * 86_400],
        [65, 80]
    )
    func setRight(_ error: Int64, _ second: Int64) throws {
        for daily in [false, true] {
            let rig = try rig(daily: daily, restartAt: second, ahead: error)
            rig.run(to: second + 4)
            rig.set(ahead: 0)
            rig.run(to: 400)
            let further = rig.outcomes.filter { $0.at > 60 && !$0.isMissed && $0.occurrence == 60 }.map(\.at)
            #expect(further.count == 2, "\(error): \(rig.outcomes) \(reasons(rig))")
            #expect(further.first.map { (125...150).contains($0) } == true, "\(error): \(rig.outcomes)")
            #expect(reasons(rig).suffix(2) == ["unanswered", "given_up"], "\(error): \(reasons(rig))")
            #expect(reasons(rig).filter { $0 == "given_up" }.count == 1, "it is the last ring: \(reasons(rig))")
            #expect(try rig.next() == (daily ? 60 + 86_400 : nil))
        }
    }

    @Test("Killed once more, and started with the right clock, it rings on")
    func startedRight() throws {
        let rig = try rig(restartAt: 80, ahead: 600)
        rig.run(to: 90)
        #expect(reasons(rig) == [])
        rig.restart(at: 95, ahead: 0)
        rig.run(to: 250)
        #expect(rig.rings == [60, 130, 200], "\(rig.outcomes)")
    }

    @Test("A ring that is late after the start is given up once the clock can be trusted", arguments: [false, true])
    func givenUp(_ daily: Bool) throws {
        let rig = try rig(daily: daily, restartAt: 300, ahead: 0)
        rig.run(to: 890)
        #expect(reasons(rig) == [])
        rig.run(to: 1_000)
        #expect(reasons(rig) == ["given_up"])
        #expect(rig.world.kept.schedules.map(\.occurrence) == (daily ? [nil] : []))
        rig.run(to: 5_000)
        #expect(rig.outcomes.count == 2)
    }

    @Test("If the schedule's next time comes meanwhile, the late ring is given up")
    func nextTime() throws {
        let rig = try rig(restartAt: 300, ahead: 86_400 - 600)
        rig.run(to: 650)
        #expect(reasons(rig) == [])
        rig.run(to: 662)
        #expect(reasons(rig) == ["given_up", "ringing"], "\(rig.outcomes)")
    }

    @Test("A schedule that is changed while its late ring waits rings at its new time")
    func changed() throws {
        let rig = try rig(restartAt: 300, ahead: 0)
        try rig.make(due: 360, daily: true, more: #","confirm":{"every":60,"times":3}"#)
        rig.run(to: 365)
        #expect(reasons(rig) == ["given_up", "ringing"])
    }

    @Test("A late ring that waits is cancelled by a confirmation")
    func confirmed() throws {
        let rig = ScheduleRig()
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(75)
        let next = ScheduleRig(rig.world.restarted(uncleanStarts: 1, after: 200))
        next.world.wait(1)
        #expect(next.outcomes == ["unanswered"])
        #expect(try next.ask(.confirm(next.id("s"))).status == 200)
        next.world.wait(1_000)
        #expect(next.outcomes == ["unanswered", "confirmed"])
    }
}
