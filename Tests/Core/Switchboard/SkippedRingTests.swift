import CallCore
import CallPorts
import CallTrace
import CallWire
import Testing

@testable import Switchboard

@Suite("Rings of a schedule that did not begin")
struct SkippedRingTests {
    /// Returns the reasons of the calls of user 10 that did not ring, with the first two sentences of their verdicts,
    /// oldest first.
    private func skipped(_ rig: ScheduleRig) throws -> [(EndReason?, String, String)] {
        let world = rig.world
        guard case .history(let calls) = world.kept.run(.history(try user("10"), limit: 100, before: nil)) else {
            return []
        }
        return calls.reversed().compactMap { call in
            let events = world.changes.compactMap { change -> TimelineRecord? in
                if case .event(call.number, let record) = change { record } else { nil }
            }
            guard events.contains(where: { $0.event.name == "ring.skipped" }) else { return nil }
            let text = Explanation(record: call, events: events, log: [], devices: [], at: world.now)
            return (call.reason, text.sentences[0], text.sentences[1])
        }
    }

    @Test("A ring above the limit of the user's schedules is missed or given up, counted, and explained as such")
    func limited() throws {
        // The only ring that is allowed is the first one.
        let rig = ScheduleRig {
            $0.schedulesPerUser = 1
            $0.callsPerMinute = 0
        }
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(40)
        #expect(rig.outcomes == ["ringing"] && rig.world.switchboard.metrics.limited[.scheduledRings] == 0)
        rig.world.wait(90)
        #expect(rig.outcomes == ["unanswered", "given_up"])
        rig.world.wait(86_400 - 90)
        #expect(rig.outcomes == ["unanswered", "given_up", "missed"])
        #expect(rig.world.switchboard.metrics.limited[.scheduledRings] == 2)
        let why = "The server did not ring, because the schedules of 10 had rung too often (protocol, section 5.11)."
        let found = try skipped(rig)
        #expect(found.map(\.0) == [.givenUp, .missed] && found.allSatisfy { $0.1 == why })
        #expect(
            found.first?.2
                == "It stands for ring 2 of the schedule s, for 2023-11-14T22:14:00.000Z; wake is only a name."
        )
    }

    @Test("A ring that comes too late is explained by the server's absence", arguments: [0, 40])
    func late(_ seconds: Int) throws {
        let rig = ScheduleRig()
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(Int64(seconds))
        let next = ScheduleRig(rig.world.restarted(uncleanStarts: 1, after: 1_000))
        next.world.wait(700)
        let due = seconds == 0 ? "The call was due at 2023-11-14T22:14:00.000Z" : "Ring 2 was due"
        let found = try skipped(next)
        #expect(found.map(\.0) == [seconds == 0 ? .missed : .givenUp])
        #expect(
            found.map(\.1) == [
                due + ", and the server could not ring within 60 seconds: it was not running, could not write its "
                    + "database, or did not trust its clock."
            ]
        )
    }

    @Test("After a confirmation between two rings the explanation says that the next ring did not begin")
    func confirmed() throws {
        let rig = ScheduleRig()
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(40 + 31)
        #expect(try rig.ask(.confirm(rig.id("s"))).status == 200)
        let found = try skipped(rig)
        #expect(found.map(\.0) == [.confirmed])
        #expect(found.map(\.1) == ["10 confirmed before ring 2 began, so it did not ring."])
        #expect(rig.world.events("ring.skipped") == [#""why":"confirmed""#])
    }

    @Test("A ring that began is not said to be skipped")
    func rung() throws {
        let rig = ScheduleRig()
        try rig.make()
        rig.world.wait(40 + 31)
        #expect(rig.outcomes == ["missed"] && rig.world.events("ring.skipped").isEmpty)
    }
}
