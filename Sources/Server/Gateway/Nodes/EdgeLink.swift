import CallCore
import CallPorts
import Cluster
import LibWebSockets

/// The owner's record of a link to another node: the node's sockets and requests, and what was confirmed to it.
final class EdgeLink {
    let link: Link
    /// The number of the link, see ``LinkNumber``.
    let number: Int
    let node: NodeID
    /// The node's open sockets, by the owner's numbers.
    var sockets: Set<SocketID> = []
    /// The node's requests without a response, by the owner's numbers.
    var exchanges: Set<ExchangeID> = []
    /// The node's events that were handled, and what was confirmed of them.
    var confirmations = EventConfirmations()
    /// The marks of the frame that follows, and its receiver.
    var nextFrameMarks: (socket: SocketID, marks: [LogMark])?

    init(_ link: Link, number: Int, node: NodeID) {
        self.link = link
        self.number = number
        self.node = node
    }

    /// Confirms what is durable, at the end of a turn.
    ///
    /// `ticket`: The commit that covers all changes so far.
    func confirm(after ticket: UInt64, durable: UInt64) {
        if let newest = confirmations.confirm(after: ticket, durable: durable) {
            link.send(.confirmed(upTo: newest))
        }
    }
}
