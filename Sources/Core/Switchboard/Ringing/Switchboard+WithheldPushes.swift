import CallPorts

/// Pushes that wait until the record of them is durable, if the server withholds its decisions.
extension Switchboard {
    /// Hands a push to the push service, or makes it wait until the record of it is durable.
    mutating func sendPush(_ push: OutgoingPush) {
        if policy.withholdsDecisions, !commits.isDurable {
            commits.wait(.push(push), since: turn.now)
        } else {
            turn.out.append(.push(push))
        }
    }

    /// Cancels a push, which may not have been handed over yet.
    ///
    /// The result of the push follows.
    mutating func cancelPush(_ id: PushID) { if !commits.cancelPush(id) { turn.out.append(.cancelPush(id)) } }
}
