import CallPorts
import Nodes
import ServerLog

/// What a node's machine tells the operator.
extension Node {
    func log(_ note: NodeMachine.Note) {
        switch note {
        case .claimsLost(let epoch):
            log.warning(
                "the database has lost claims: a backup was restored, or a standby without them has taken over",
                [.ownership(epoch.rawValue)]
            )
        case .owns(let epoch): log.notice("this node owns the calls", [.ownership(epoch.rawValue)])
        case .serves(let links): log.debug("this node serves as the owner", [.links(links)])
        case .releases(let epoch, let heir):
            log.notice("this node releases the calls", [.ownership(epoch.rawValue), heir.map { .node($0.logged) }])
        case .deposed: log.warning("another node owns the calls; this node begins anew")
        case .nodeLinked(let node): log.notice("a node is linked", [.node(node.logged)])
        case .nodeGone(let node, let sockets):
            log.notice("a node's link has ended", [.node(node.logged), .connections(sockets)])
        case .nodeRefused(let node):
            log.warning("a node was refused: the owner has as many links as it can have", [.node(node.logged)])
        case .linkedToOwner(let node, let epoch):
            log.notice("linked to the owner of the calls", [.node(node.logged), .ownership(epoch.rawValue)])
        case .ownerLost(let end):
            log.warning("the link to the owner of the calls was lost", [.linkEnd(ServerText(end.words))])
        case .refusedByOwner(let node):
            log.warning("the owner of the calls has no place for this node", [node.map { .node($0.logged) }])
        case .ownerUnreachable(let unreachable):
            log.warning(
                "this node cannot reach the owner of the calls at its --node-address",
                [
                    .node(unreachable.owner.logged), .nodeAddress(OperatorText(unreachable.address)),
                    .error(UntrustedText(unreachable.reason)),
                ]
            )
        case .connectFailed(let reason):
            log.debug("the owner of the calls cannot be reached", [.error(UntrustedText(reason))])
        case .linkEnded(let node, let end):
            log.debug("a link has ended", [node.map { .node($0.logged) }, .linkEnd(ServerText(end.words))])
        case .rejectsInput:
            log.warning("too many events wait for an owner: sockets that send more are closed")
        }
    }
}
