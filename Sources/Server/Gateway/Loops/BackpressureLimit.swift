/// A bound on the bytes in transit from one thread to another: a producer above the limit has to wait.
///
/// Producers wait on a `Monitor` that holds the limit.
struct BackpressureLimit: Sendable {
    private let limit: Int
    private var inTransit = 0
    private var isLifted = false

    init(_ limit: Int) { self.limit = limit }

    /// Adds bytes if less than the limit is in transit.
    ///
    /// The limit is checked before the bytes are added, so bytes larger than the whole limit pass too.
    /// - Returns: `nil` if the producer has to wait.
    mutating func enter(_ bytes: Int) -> Void? {
        guard inTransit < limit || isLifted else { return nil }
        inTransit += bytes
        return ()
    }

    /// Removes bytes that the other side has taken.
    mutating func leave(_ bytes: Int) { inTransit -= bytes }

    /// Lets all producers pass for good, because the other side has stopped.
    mutating func lift() { isLifted = true }
}
