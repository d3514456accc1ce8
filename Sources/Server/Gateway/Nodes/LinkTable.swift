import CallCore
import LibWebSockets
import Nodes

/// The links of a node.
struct LinkTable {
    /// The links of which the machine knows: the one to the owner, and those that other nodes have opened.
    var byID: [LinkID: Link] = [:]
    /// Accepted links whose other side has not proved itself, the oldest first.
    var unproven: [Link] = []
    /// The attempt to open the link to the owner.
    var attempt: TCPConnectionAttempt?
    /// The key with which the nodes prove to each other that they use the same database.
    let key: [UInt8]

    /// Calls a closure with each link, without building an array of them.
    func forEach(_ body: (Link) -> Void) {
        for link in byID.values { body(link) }
        for link in unproven { body(link) }
    }

    /// The next deadline of ``Link/check(at:)`` of all links; `nil` = there is no link.
    var deadline: Moment? {
        var next: Moment?
        forEach { link in next = next.map { min($0, link.deadline) } ?? link.deadline }
        return next
    }
}
