import CallCore
import CallPorts
import Cluster
import DequeModule
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
    /// The number of the newest event that was handled.
    var handled: UInt64 = 0
    /// The marks of the frame that follows, and its receiver.
    var marks: (socket: SocketID, marks: [LogMark])?

    /// The number of the newest event that was confirmed, or that waits in ``unconfirmed``.
    private var noted: UInt64 = 0
    /// Numbers of events, each with the ticket that must be durable before the number is confirmed.
    private var unconfirmed = Deque<(number: UInt64, ticket: UInt64)>()

    init(_ link: Link, number: Int, node: NodeID) {
        self.link = link
        self.number = number
        self.node = node
    }

    /// Confirms what is durable, at the end of a turn.
    ///
    /// `ticket`: The commit that covers all changes so far.
    func confirm(after ticket: UInt64, durable: UInt64) {
        if handled > noted {
            noted = handled
            // While the store is stalled, all events wait for the same commit.
            if unconfirmed.last?.ticket == ticket { unconfirmed.removeLast() }
            unconfirmed.append((handled, ticket))
        }
        var newest: UInt64?
        while let first = unconfirmed.first, first.ticket <= durable {
            newest = first.number
            unconfirmed.removeFirst()
        }
        if let newest { link.send(.confirmed(upTo: newest)) }
    }
}
