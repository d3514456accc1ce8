import CallCore
import CallPorts
import CallWire
import Foundation
import Testing
import TimeZones

@testable import Switchboard

/// The time zones of the system.
struct SystemZones: TimeZoneSource {
    func rules(named name: String) -> TimeZoneRules? {
        guard TimeZoneName.isValid(name) else { return nil }
        // A zone without a file is unknown.
        return try? TimeZoneRules(tzif: Array(Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/\(name)"))))
    }
}

/// A world whose user 10 has a schedule that is due 40 seconds after the world's start: at 07:14 in Seoul.
struct ScheduleRig {
    let world: SwitchboardWorld

    init(_ world: SwitchboardWorld) { self.world = world }

    init(_ adjust: (inout Policy) -> Void = { _ in }) {
        world = SwitchboardWorld(adjust)
    }

    static let daily = ScheduleRig.body(#""days":["mon","tue","wed","thu","fri","sat","sun"]"#)
    static let once = ScheduleRig.body(#""on":"2023-11-15""#)
    static let confirmed = ScheduleRig.body(
        #""days":["mon","tue","wed","thu","fri","sat","sun"],"confirm":{"every":60,"times":3}"#
    )

    static func body(_ dates: String) -> String {
        #"{"at":"07:14","timeZone":"Asia/Seoul","from":{"id":"wake","displayName":"Mina"},"ring":30,\#(dates)}"#
    }

    /// Makes a request of user 10, or of a service for user 10.
    func ask(_ asked: Switchboard.ScheduleRequest, byService isService: Bool = false) throws -> Reply {
        guard isService else { return try world.reply(try principal("10"), .schedules(asked, of: nil)) }
        var service = try principal("svc")
        service.isService = true
        return try world.reply(service, .schedules(asked, of: try user("10")))
    }

    /// Makes the schedule `s`.
    func make(_ body: String = Self.daily, byService isService: Bool = false) throws {
        let form = try ScheduleForm(body: Array(body.utf8))
        #expect(try ask(.put(try id("s"), form), byService: isService).status == 200)
    }

    func id(_ text: String) throws -> ScheduleID {
        guard let id = ScheduleID(text) else { throw Missing("\(text) is no schedule id") }
        return id
    }

    /// The reasons of the calls in user 10's history, oldest first; a live call has its state.
    var outcomes: [String] {
        guard case .history(let calls) = world.kept.run(.history(Self.ten, limit: 10_000, before: nil)) else {
            return []
        }
        return calls.reversed().map { $0.reason?.rawValue ?? "\($0.state)" }
    }

    private static var ten: UserID {
        guard let id = UserID("10") else { preconditionFailure("10 is a user id") }
        return id
    }
}
