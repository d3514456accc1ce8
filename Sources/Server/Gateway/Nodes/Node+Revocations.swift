import CallCore
import Cluster
import Switchboard

/// A revocation by the operator of a node, until it is durable.
struct PendingRevocation {
    let user: UserID
    /// The moment up to which tokens are revoked, by the wall clock.
    let moment: Moment
    let done: @Sendable () -> Void

    var frame: NodeFrame { .revocation(user, upTo: moment) }
}

/// The operators' revocations: an operator may give the command to any node.
extension Node {
    /// Passes a command of this node's operator to the owner, now or when there is one.
    func passToOwner(_ command: Switchboard.OperatorCommand, done: @escaping @Sendable () -> Void) {
        switch command {
        case .revoke(let user, let moment):
            let revocation = PendingRevocation(user: user, moment: moment + clockLead, done: done)
            revocations.append(revocation)
            if attachment.epoch != nil { ownerLink?.send(revocation.frame) }
        }
    }

    /// Handles the owner's report that a revocation is durable.
    func revoked(_ user: UserID, upTo moment: Moment) {
        for revocation in revocations where revocation.user == user && revocation.moment == moment { revocation.done() }
        revocations.removeAll { $0.user == user && $0.moment == moment }
    }

    /// Carries out what waited for an owner, because this node has become the owner.
    func carryOutRevocations() {
        for revocation in revocations {
            gateway.decide(.revoke(revocation.user, before: revocation.moment + .milliseconds(-clockLead.milliseconds)))
            {
                revocation.done()
            }
        }
        revocations = []
    }

    /// Carries out a revocation of another node's operator, and reports to that node when it is durable.
    func revoke(_ user: UserID, upTo moment: Moment, askedBy edge: EdgeLink) {
        guard tenure.ownEpoch != nil else { return }
        let number = edge.number
        let name = edge.node
        gateway.decide(.revoke(user, before: moment + .milliseconds(-clockLead.milliseconds))) { [weak gateway] in
            gateway?.post { gateway in
                guard let edge = gateway.node?.edgeLinks[number], edge.node == name else { return }
                edge.link.send(.revocation(user, upTo: moment))
            }
        }
    }
}
