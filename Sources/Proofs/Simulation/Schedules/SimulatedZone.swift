import CallPorts
import TimeZones

/// The time zones of all worlds with schedules, as the server knows them.
struct SimulatedZones: TimeZoneSource {
    func rules(named name: String) -> TimeZoneRules? { SimulatedZone(named: name)?.rules }
}

/// A time zone whose clocks are always the same number of hours from UTC.
struct SimulatedZone {
    let hours: Int

    /// The zones of all worlds with schedules.
    static let all = [SimulatedZone(hours: 0), SimulatedZone(hours: 9), SimulatedZone(hours: -7)]

    init(hours: Int) { self.hours = hours }

    /// The zone with this name; `nil` = there is none.
    init?(named name: String) {
        guard let zone = Self.all.first(where: { $0.name == name }) else { return nil }
        self = zone
    }

    /// The name by which the server knows the zone.
    var name: String { "Hours/\(hours)" }

    /// The offset from UTC in milliseconds.
    var offset: Int64 { Int64(hours) * 3_600_000 }

    /// The server's rules of the zone.
    var rules: TimeZoneRules? {
        // Version 2: the block for readers of version 1, the block with 64-bit times, and the footer (RFC 9636,
        // section 3). Both blocks have one local time type and no transition.
        var block = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
        for count in [0, 0, 0, 0, 1, 4] as [UInt8] { block += [0, 0, 0, count] }
        let offset = UInt32(bitPattern: Int32(hours * 3_600))
        block += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: offset >> $0) }
        block += [0, 0] + Array("ZZZ\0".utf8)
        // POSIX counts hours west of UTC.
        // A zone without rules is unknown to the server: no schedule in it is accepted.
        return try? TimeZoneRules(tzif: block + block + Array("\nZZZ\(-hours)\n".utf8))
    }
}
