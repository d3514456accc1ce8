import CallCore
import CallPorts

/// The pauses between attempts to deliver an event, and between probes of an endpoint that is down.
///
/// Each pause is up to a fifth shorter or longer, by a hash of what is tried: events that fail together are not tried
/// again together, and the same run gives the same pauses.
enum DeliverySchedule {
    /// How long an event is tried, from its first attempt, before it is parked.
    static let patience = Moment.Duration.seconds(3 * 24 * 3_600)
    /// The longest pause that the header `Retry-After` of a response has effect for.
    static let longestDemand = Moment.Duration.seconds(12 * 3_600)
    /// The longest of these pauses for which an endpoint that is down is not probed with other events.
    static let longestProbeDemand = Moment.Duration.seconds(3_600)
    /// The pause after a query to the store has failed.
    static let readPause = Moment.Duration.seconds(1)
    /// The time between two commits of an endpoint's position.
    static let storePause = Moment.Duration.seconds(1)
    /// The time between two portions of events that are parked because the endpoint was down for too long.
    static let portionPause = Moment.Duration.milliseconds(100)

    private static let pauses: [Int64] = [1, 5, 30, 2 * 60, 10 * 60, 30 * 60, 2 * 3_600, 6 * 3_600, 12 * 3_600]
    private static let probePauses: [Int64] = [1, 2, 5, 10, 30]

    /// The longest pause that ``pause(after:of:)`` returns.
    static let longestPause = Moment.Duration.seconds(15 * 3_600)

    /// The pause after an event's attempts, of which there were so many.
    static func pause(after attempts: Int, of position: EventPosition) -> Moment.Duration {
        let seconds = pauses[min(max(attempts, 1), pauses.count) - 1]
        return varied(seconds, by: UInt64(bitPattern: position.rawValue) &+ UInt64(attempts) << 48)
    }

    /// The pause after so many failed probes of an endpoint; 0 = it has just gone down.
    static func probePause(after probes: Int, of position: EventPosition) -> Moment.Duration {
        let seconds = probePauses[min(probes, probePauses.count - 1)]
        return varied(seconds, by: ~UInt64(bitPattern: position.rawValue) &+ UInt64(probes) << 48)
    }

    /// The pause that a response demands, at most ``longestDemand``; `nil` = none.
    static func demand(of result: DeliveryResult) -> Moment.Duration? {
        guard case .response(_, let pause?) = result else { return nil }
        return min(max(pause, .seconds(0)), longestDemand)
    }

    /// Returns so many seconds, 20 % less to 20 % more, by a hash.
    private static func varied(_ seconds: Int64, by number: UInt64) -> Moment.Duration {
        // The end of SplitMix64, which spreads neighbouring numbers.
        var mixed = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        return .milliseconds(seconds * (800 + Int64(mixed % 401)))
    }
}
