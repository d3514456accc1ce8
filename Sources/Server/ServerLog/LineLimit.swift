/// How many lines of each kind unauthenticated clients and accounts may cause in a log, and the sums of the lines above
/// that.
///
/// A kind is the sentence of a log line or the name of an audit event. The account that caused a line has a share of
/// its own, so that one account cannot hide the lines of others. Memory is bounded: an account is remembered only while
/// its kind still gets lines in this minute.
package struct LineLimit<Kind: Hashable & Sendable>: Sendable {
    /// The number of lines of one kind that one account, or all unauthenticated clients together, may cause in a
    /// minute.
    package static var linesOfAccount: Int { 10 }
    /// The number of lines of one kind in a minute.
    package static var linesOfKind: Int { 120 }
    /// The time between two lines with sums, in seconds.
    package static var sumSeconds: Int64 { 5 }

    private struct Shares {
        var lines = 0
        var ofAccounts: [String?: Int] = [:]
    }

    private var minute = Int64.min
    private var shares: [Kind: Shares] = [:]
    private var sums: [Kind: UInt64] = [:]
    /// When sums were taken, in seconds.
    private var summedAt = Int64.min
    /// The number of lines so far that were only counted.
    package private(set) var suppressed: UInt64 = 0

    /// Creates a limit that has admitted no line.
    package init() {}

    /// Decides about a line; one that is not written is counted in a sum.
    ///
    /// - Parameters:
    ///   - kind: The kind of the line.
    ///   - account: The account that caused the line; `nil` for an unauthenticated client.
    ///   - limit: The number of lines of this kind that the account may cause in a minute.
    ///   - second: The time in seconds, of a clock that never goes back.
    /// - Returns: Whether the line is within the limits.
    package mutating func admits(
        _ kind: Kind,
        of account: String?,
        atMost limit: Int = Self.linesOfAccount,
        at second: Int64
    ) -> Bool {
        if second / 60 != minute { (minute, shares) = (second / 60, [:]) }
        var share = shares[kind, default: Shares()]
        let lines = share.ofAccounts[account, default: 0]
        guard share.lines < Self.linesOfKind, lines < limit else {
            if sums.isEmpty { summedAt = second }
            sums[kind, default: 0] += 1
            suppressed += 1
            return false
        }
        share.lines += 1
        share.ofAccounts[account] = lines + 1
        shares[kind] = share
        return true
    }

    /// Takes the sums that are due, and begins new ones.
    ///
    /// - Parameter second: The time in seconds; `nil` makes all sums due, as at the end of the process.
    /// - Returns: For each kind, how many lines were only counted.
    package mutating func takeSums(at second: Int64?) -> [(kind: Kind, count: UInt64)] {
        guard !sums.isEmpty, second.map({ $0 >= summedAt + Self.sumSeconds }) ?? true else { return [] }
        defer { sums = [:] }
        return sums.map { (kind: $0.key, count: $0.value) }
    }
}
