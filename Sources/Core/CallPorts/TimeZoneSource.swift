package import TimeZones

/// The port to the rules of time zones, by which schedules are due.
///
/// Its method is called on the event loop that owns the switchboard. The adapter may read a file when a zone is first
/// asked for, and must keep its rules in memory.
package protocol TimeZoneSource: Sendable {
    /// Returns the rules of a time zone by its name in the tz database, which may come from a client; `nil` = there is
    /// no such zone.
    func rules(named name: String) -> TimeZoneRules?
}
