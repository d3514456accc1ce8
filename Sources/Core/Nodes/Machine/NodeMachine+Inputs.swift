package import CallCore
package import CallPorts

/// The number of a link at one node; a node never uses a number twice.
package struct LinkID: Hashable, Sendable {
    /// The number.
    package let rawValue: UInt64

    /// Creates the id with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The ways in which a link ends without this node's will.
package enum LinkEnd: Equatable, Sendable {
    /// The other side has closed it, or its process has ended.
    case closed
    /// Nothing has arrived for too long, or the other side did not prove itself in time.
    case silent
    /// The other side does not serve the link.
    case refused(NodeFrame.LinkRefusal)
    /// The other side has broken the protocol; the text says how.
    case fault(String)
}

/// The number of a revocation that this node's operator has asked for.
package struct RevocationID: Hashable, Sendable {
    /// The number.
    package let rawValue: UInt64

    /// Creates the id with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

extension NodeMachine {
    /// The inputs of a node.
    package enum Input: Sendable {
        /// The node has started, and accepts links.
        case started
        /// The moment that ``NodeMachine/deadline`` named has come.
        case deadlineReached
        /// The process terminates.
        case terminate

        // From the database.
        /// The owner's row was read; `nil` = the database could not be reached.
        indirect case rowRead(OwnerRow?)
        /// The claim is durable, and the calls are being read.
        case loading
        /// The claim has succeeded, and the calls were read. `others` = the nodes that were seen in the last 5 s.
        case claimed(OwnerEpoch, others: Set<NodeID>)
        /// The claim found another ownership in the row.
        case claimLost
        /// The claim failed, and may have been carried out or not.
        case claimFailed
        /// The owner's store reports; the switchboard has had the report before.
        case stored(StoreReport)
        /// Everything is committed, and the calls of this ownership are released.
        case released(OwnerEpoch)

        // From links.
        /// The attempt to connect has succeeded, and the handshake begins.
        case connected(LinkID)
        /// The system of the owner's machine refuses connections to its address.
        case connectRefused(LinkID)
        /// The attempt to connect has failed for another reason.
        case connectFailed(LinkID, reason: String)
        /// Both sides of a link have proved themselves.
        indirect case linkOpened(LinkID, Hello)
        /// A frame has arrived on an open link.
        case frameReceived(LinkID, NodeFrame)
        /// A link has ended, but not by an effect of this node. `peer` = the other side's hello, if it has come.
        indirect case linkEnded(LinkID, LinkEnd, peer: Hello?)
        /// An event has no room in a frame. `response` answers it, if it is a request.
        indirect case eventTooLarge(SocketEvent, response: Response)

        // From this node's sockets, while another node, or none, owns the calls.
        /// A socket or a request reports an event. `isLinkFull` = too much waits for the owner to read.
        case socketEvent(SocketEvent, isLinkFull: Bool)

        // Revocations.
        /// This node's operator revokes the tokens of a user that were issued up to a moment of this node's clock.
        case revocationAsked(UserID, upTo: Moment, RevocationID)
        /// The revocation of another node's operator is durable.
        case revocationDurable(PendingRevocation)
        /// The tokens of a user that were issued up to a moment of this node's clock are revoked from now on.
        case revoked(UserID, upTo: Moment)
    }

    /// The effects of a node, which its shell carries out in order.
    package enum Effect: Sendable {
        // On the database.
        /// Read the owner's row; ``Input/rowRead(_:)`` follows.
        case readRow
        /// Claim the calls; see `Tenure.Effect.claim`.
        case claim(after: OwnerEpoch, above: OwnerEpoch)
        /// Give back the store of a claim that was never used; ``Input/released(_:)`` follows.
        case giveBack(OwnerEpoch, heir: NodeID?)

        // On links.
        /// Connect to an address; ``Input/connected(_:)``, ``Input/connectRefused(_:)`` or
        /// ``Input/connectFailed(_:reason:)`` follows.
        case connect(LinkID, address: String)
        /// Add a frame to those that are written to a link at the end of the turn.
        case send(LinkID, NodeFrame)
        /// End a link, or the attempt to open it, at once; no report about it follows.
        case close(LinkID)
        /// Write what waits for a link, and end it; no report about it follows.
        case closeAfterWriting(LinkID)
        /// Tell the other side why the link is not served, and end it.
        case refuse(LinkID, NodeFrame.LinkRefusal)

        // On the calls.
        /// Begin to decide with the store of the claim, as soon as ``serve`` follows.
        case beginOwnership(OwnerEpoch)
        /// Pass the events of this node's sockets to the switchboard from now on.
        case serve
        /// Pass them to this node again, commit everything, and release the calls; ``Input/released(_:)`` follows.
        case endOwnership(OwnerEpoch, heir: NodeID?)
        /// Drop the calls without committing anything.
        case dropCalls
        /// Pass an event to the switchboard; the link is 0 for this node's own sockets.
        case decide(SocketEvent, link: Int)
        /// Count the connect of another node's user, whom that node has counted among its own only: pass the opening to
        /// the switchboard, or close the socket with 4429 if the user connects too often.
        indirect case admit(SocketID, Principal, device: DeviceID?, link: Int)
        /// Give the switchboard a socket that it has not opened itself.
        indirect case adopt(AdoptedSocket, link: Int)
        /// Tell the node of a socket which id the switchboard has given the device of its client, so that the client
        /// keeps the id under the next owner.
        case assignDevice(SocketID, link: Int)
        /// Send the revocations that the switchboard knows over a new link.
        case sendRevocations(LinkID)
        /// Revoke, and pass in ``Input/revocationDurable(_:)`` once that is durable.
        case revoke(PendingRevocation, before: Moment)

        // On this node's sockets.
        /// Carry out a command of the owner on a socket or a request of this node; its moment is of this node's clock.
        case carryOut(SocketCommand)
        /// Respond to a request with 503 and `Retry-After: 1`, because there is no owner at present.
        case refuseRequest(RequestID)
        /// Tell these sockets when to reconnect, close all sockets, and refuse all requests.
        case closeOwnSockets([DrainedSocket])
        /// End the run: the process re-executes.
        case beginAnew

        // On the operator.
        /// The revocation that this node's operator has asked for is durable.
        case revocationDone(RevocationID)
        /// Something for the log.
        case note(Note)
    }

    /// A socket of this node that is told when to reconnect.
    package struct DrainedSocket: Equatable, Sendable {
        /// The socket.
        package let socket: SocketID
        /// Whether the socket was written entries of a call.
        package let mayBeInCall: Bool
        /// Whether the socket was sent `welcome`, the first message on each socket.
        package let isWelcome: Bool
    }

    /// A revocation that is not durable yet.
    package struct PendingRevocation: Equatable, Sendable {
        /// Who has asked for it.
        package enum Asker: Equatable, Sendable {
            /// This node's operator.
            case operatorHere(RevocationID)
            /// The operator of the node at the other end of this link.
            case link(LinkID)
        }

        /// The user.
        package let user: UserID
        /// The moment up to which tokens are revoked, by the wall clock.
        package let moment: Moment
        /// Who has asked for it.
        package let asker: Asker

        /// Creates a revocation of these parts.
        package init(user: UserID, moment: Moment, asker: Asker) {
            self.user = user
            self.moment = moment
            self.asker = asker
        }

        var frame: NodeFrame { .revocation(user, upTo: moment) }
    }

    /// What a node tells its operator.
    package enum Note: Equatable, Sendable {
        /// The row is below an ownership that this node knows.
        case claimsLost(OwnerEpoch)
        /// This node owns the calls.
        case owns(OwnerEpoch)
        /// This node decides, with so many other nodes.
        case serves(links: Int)
        /// This node releases the calls.
        case releases(OwnerEpoch, heir: NodeID?)
        /// Another node owns the calls; this one re-executes.
        case deposed
        /// Another node is linked to this one.
        case nodeLinked(NodeID)
        /// The link of another node, with so many sockets, has ended.
        case nodeGone(NodeID, sockets: Int)
        /// Another node was refused, because this owner has as many links as it can have.
        case nodeRefused(NodeID)
        /// This node is linked to the owner.
        case linkedToOwner(NodeID, OwnerEpoch)
        /// The link to the owner was lost.
        case ownerLost(LinkEnd)
        /// The owner has no place for this node.
        case refusedByOwner(NodeID?)
        /// The owner could not be reached for some time.
        case ownerUnreachable(OwnerAttempts.Unreachable)
        /// One attempt to reach the owner has failed.
        case connectFailed(reason: String)
        /// A link has ended, at whichever end and for whatever reason.
        case linkEnded(NodeID?, LinkEnd)
        /// Sockets that send more are closed, because too much waits for an owner.
        case rejectsInput
    }
}

extension LinkEnd {
    /// The end in words, for the log.
    package var words: String {
        switch self {
        case .closed: "closed"
        case .silent: "silent"
        case .refused(.version): "refused: no common version"
        case .refused(.proof): "refused: the nodes use different databases"
        case .refused(.notOwner): "refused: that node does not own the calls"
        case .refused(.claiming): "refused: that node is loading its calls"
        case .refused(.full): "refused: the owner has as many links as it can have"
        case .fault(let words): "fault: \(words)"
        }
    }
}
