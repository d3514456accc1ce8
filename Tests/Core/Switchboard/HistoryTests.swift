import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("The deletion of old history")
struct HistoryTests {
    private static let day = Moment.Duration.seconds(86_400)

    /// Lets time pass, and returns the moments up to which history was deleted meanwhile.
    private func deletions(_ world: SwitchboardWorld, _ seconds: Int64) -> [Moment] {
        let before = world.changes.count
        world.wait(seconds)
        return world.changes.dropFirst(before).compactMap {
            if case .historyForgotten(let moment) = $0 { moment } else { nil }
        }
    }

    @Test("History is deleted once a minute, from ten minutes after the start")
    func afterStart() {
        let world = SwitchboardWorld()
        #expect(deletions(world, 599).isEmpty)
        let found = deletions(world, 120)
        #expect(found.count == 2)
        #expect(found.last == Moment(milliseconds: SwitchboardWorld.start.milliseconds + 660_000 - 30 * 86_400_000))
        #expect(world.notes.isEmpty)
    }

    @Test("If the newest stored call is more than a day away from the clock, deletion waits an hour and this is noted")
    func oddStart() {
        for distance in [Moment.Duration.seconds(40 * 86_400), .seconds(-40 * 86_400)] {
            var stored = StoredState()
            stored.lastCallAt = Moment(milliseconds: SwitchboardWorld.start.milliseconds - distance.milliseconds)
            let world = SwitchboardWorld(stored: stored)
            #expect(deletions(world, 3_599).isEmpty)
            #expect(world.notes == [.oddClock(distance)])
            #expect(deletions(world, 60).count == 1)
        }
    }

    @Test("Deletion does not wait an hour if the newest stored call is younger than a day")
    func ordinaryStart() throws {
        var stored = StoredState()
        stored.lastCallAt = Moment(milliseconds: SwitchboardWorld.start.milliseconds - 40 * 86_400_000)
        let world = SwitchboardWorld(stored: stored)
        _ = deletions(world, 60)
        #expect(world.notes.count == 1)
        stored.lastCallAt = Moment(milliseconds: SwitchboardWorld.start.milliseconds - 86_000_000)
        #expect(deletions(SwitchboardWorld(stored: stored), 660).count == 2)
    }

    @Test("History is not deleted while the wall clock differs from the server's clock, nor for ten minutes afterwards")
    func doubted() {
        let world = SwitchboardWorld()
        _ = deletions(world, 700)
        world.give(.wallClock(.doubtful))
        #expect(deletions(world, 86_400).isEmpty)
        world.give(.wallClock(.agreeing))
        #expect(deletions(world, 590).isEmpty)
        #expect(!deletions(world, 120).isEmpty)
        world.give(.wallClock(.agreeing))
        #expect(deletions(world, 60).count == 1, "the clock was not in doubt, so nothing is delayed")
    }
}

extension WallClock {
    fileprivate static let doubtful = WallClock(lead: .milliseconds(0), isSteady: true, agrees: false)
}
