/// The schedule for fetching a published key set.
///
/// It is pure: moments are arguments, in milliseconds of any clock that never goes back.
package struct KeySetSchedule: Sendable {
    /// How long a set counts as fresh if its server states no time, in milliseconds.
    package static let usualLife: Int64 = 3_600_000
    /// The limits for how long a set counts as fresh, whatever its server states, in milliseconds.
    package static let lives: ClosedRange<Int64> = 300_000...86_400_000
    /// The shortest time between two fetches that are caused by tokens with an unknown key id, in milliseconds.
    package static let missPause: Int64 = 60_000
    /// The longest pause after failures, in milliseconds; the first pause lasts two seconds, and each further pause
    /// twice as long as the one before.
    package static let longestPause: Int64 = 300_000

    /// When the next fetch is due.
    package private(set) var dueAt: Int64
    /// The number of failures in a row.
    package private(set) var failures = 0
    /// Whether a fetch is under way.
    package private(set) var isUnderWay = false
    private var missAt: Int64?

    /// Creates a schedule whose first fetch is due immediately.
    package init(at now: Int64) { dueAt = now }

    /// Returns whether a fetch must begin now; if so, the fetch counts as under way.
    package mutating func begins(at now: Int64) -> Bool {
        guard !isUnderWay, now >= dueAt else { return false }
        isUnderWay = true
        return true
    }

    /// Records that a token named a key that is missing from the set; the key may be new.
    ///
    /// - Parameter now: the present moment.
    /// - Returns: whether a fetch is under way or due now, so that the key may be available soon.
    package mutating func missed(at now: Int64) -> Bool {
        if isUnderWay { return true }
        // After failures the pause is kept: tokens with forged key ids must not make the server fetch more often.
        guard failures == 0 else { return false }
        let earliest = missAt.map { max(now, $0 + Self.missPause) } ?? now
        dueAt = min(dueAt, earliest)
        guard dueAt <= now else { return false }
        missAt = now
        return true
    }

    /// Makes the next fetch due as soon as possible, because an operator asked for it.
    package mutating func fetchSoon(at now: Int64) { dueAt = min(dueAt, now) }

    /// Records that a set was fetched.
    ///
    /// - Parameters:
    ///   - now: the present moment.
    ///   - life: how long the set is fresh according to its server, in milliseconds; `nil` if the server states no
    ///     time.
    package mutating func succeeded(at now: Int64, life: Int64?) {
        isUnderWay = false
        failures = 0
        dueAt = now + min(max(life ?? Self.usualLife, Self.lives.lowerBound), Self.lives.upperBound)
    }

    /// Records that no set was fetched, or no usable one.
    package mutating func failed(at now: Int64) {
        isUnderWay = false
        failures += 1
        dueAt = now + min(2_000 << Int64(min(failures - 1, 10)), Self.longestPause)
    }

    /// Returns how long a response is fresh by its `Cache-Control` (RFC 9111, section 5.2), in milliseconds.
    ///
    /// The result is `nil` if the header states no time, and 0 for `no-store`, `no-cache` and a malformed `max-age`.
    package static func life(cacheControl: String) -> Int64? {
        for directive in cacheControl.split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { part in
                part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
            }
            switch parts.first {
            case "no-store", "no-cache": return 0
            case "max-age":
                guard parts.count == 2, !parts[1].isEmpty, parts[1].allSatisfy({ ("0"..."9").contains($0) }) else {
                    return 0
                }
                // A number that does not fit is above the upper limit anyway.
                guard let seconds = Int64(parts[1]) else { return .max }
                let (life, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000)
                return isTooLarge ? .max : life
            default: break
            }
        }
        return nil
    }
}
