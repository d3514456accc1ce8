import CallPorts

/// Conditions of queries on the table `call`, in the SQL that all databases understand.
package enum CallCondition {
    /// A condition that excludes the calls that are being deleted.
    package static let isNotForgotten = """
        (ended_at IS NULL OR ended_at >= coalesce(
            (SELECT value FROM meta WHERE name = 'forgetting_before' AND value <= \(StorableRange.moments.upperBound)),
            ended_at))
        """

    /// A condition that excludes impossible numbers, which would come before all others.
    package static let isPossible = "number <= \(StorableRange.numbers.upperBound)"

    /// A condition that excludes the offers that the app's backend has refused: they are no calls of their users.
    package static let isCall = "(hidden IS NULL OR hidden <> 'refused')"
}
