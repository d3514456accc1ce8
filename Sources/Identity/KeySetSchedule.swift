/// When a published key set is to be fetched.
///
/// Pure: moments are handed in, in milliseconds of any clock that never goes back.
public struct KeySetSchedule: Sendable {
    /// How long a set is taken for fresh whose server does not say.
    public static let usualLife: Int64 = 3_600_000
    /// No shorter, and no longer, whatever its server says.
    public static let lives: ClosedRange<Int64> = 300_000...86_400_000
    /// Tokens that name an unknown key have the set fetched so often at most.
    public static let missPause: Int64 = 60_000
    /// The longest pause after failures; the first is of two seconds, each further one twice as long.
    public static let longestPause: Int64 = 300_000

    /// When the next fetch is due.
    public private(set) var dueAt: Int64
    /// How often in a row it has failed.
    public private(set) var failures = 0
    /// Whether a fetch is under way.
    public private(set) var isUnderWay = false
    private var missAt: Int64?

    /// The first fetch is due at once.
    public init(at now: Int64) { dueAt = now }

    /// Whether a fetch is to be begun; then it counts as under way.
    public mutating func begins(at now: Int64) -> Bool {
        guard !isUnderWay, now >= dueAt else { return false }
        isUnderWay = true
        return true
    }

    /// A token named a key that the set does not have: it may be a new one.
    ///
    /// - Parameter now: the moment.
    /// - Returns: whether a fetch is under way or due, so that the key may be there in a moment.
    public mutating func missed(at now: Int64) -> Bool {
        if isUnderWay { return true }
        // After failures their pause is kept: whoever sends forged tokens shall not have us ask more often.
        guard failures == 0 else { return false }
        let earliest = missAt.map { max(now, $0 + Self.missPause) } ?? now
        dueAt = min(dueAt, earliest)
        guard dueAt <= now else { return false }
        missAt = now
        return true
    }

    /// Has it fetched as soon as possible: an operator asked for it.
    public mutating func hurry(at now: Int64) { dueAt = min(dueAt, now) }

    /// A set came.
    ///
    /// - Parameters:
    ///   - now: the moment.
    ///   - life: for how long its server calls it fresh, in milliseconds.
    public mutating func succeeded(at now: Int64, life: Int64?) {
        isUnderWay = false
        failures = 0
        dueAt = now + min(max(life ?? Self.usualLife, Self.lives.lowerBound), Self.lives.upperBound)
    }

    /// No set came, or none that can be used.
    public mutating func failed(at now: Int64) {
        isUnderWay = false
        failures += 1
        dueAt = now + min(2_000 << Int64(min(failures - 1, 10)), Self.longestPause)
    }

    /// For how long an answer's `Cache-Control` (RFC 9111, section 5.2) calls it fresh, in milliseconds; `nil`: it does not say.
    public static func life(cacheControl: String) -> Int64? {
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
                // A number that does not fit is above the upper bound.
                guard let seconds = Int64(parts[1]) else { return .max }
                let (life, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000)
                return isTooLarge ? .max : life
            default: break
            }
        }
        return nil
    }
}
