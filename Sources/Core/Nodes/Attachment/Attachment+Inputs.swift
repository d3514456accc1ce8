package import CallPorts

extension Attachment {
    /// The inputs of an attachment.
    package enum Input: Equatable, Sendable {
        /// A socket of this node reports an event.
        case event(SocketEvent)
        /// The node has an owner, in this ownership: another node over a link, or itself.
        case attached(OwnerEpoch)
        /// The node has no owner any more.
        case detached
        /// A node has claimed the calls, and is reading them: another node, which says so, or this one.
        case ownerComing
        /// The owner of this ownership has confirmed all events up to a number.
        case confirmed(OwnerEpoch, upTo: UInt64)
        /// The owner of this ownership has given a command.
        case command(OwnerEpoch, SocketCommand)
        /// The moment that ``Attachment/deadline`` named has come.
        case deadlineReached
    }

    /// The effects of an attachment, which the node carries out in order.
    package enum Effect: Equatable, Sendable {
        /// Bring a socket to the owner.
        case adopt(AdoptedSocket)
        /// Tell the owner that all sockets were brought.
        case adoptionComplete
        /// Pass an event with this number to the owner.
        case pass(UInt64, SocketEvent)
        /// Carry out a command on a socket or a request of this node.
        case carryOut(SocketCommand)
        /// Respond to a request with 503 and `Retry-After: 1`, because its owner is gone.
        case refuse(RequestID)
        /// Close sockets that send more, and refuse requests (`true`), or accept them again.
        case rejectInput(Bool)
        /// Report that the node is ready (`true`), or is not.
        case ready(Bool)
        /// End the link: the owner has broken a rule of the protocol.
        case endLink(Fault)
    }

    /// The rules that an owner can break.
    package enum Fault: Equatable, Sendable {
        /// The ownership is older than one that this node has had.
        case olderEpoch
        /// A number was confirmed that no event has had.
        case confirmedUnsent

        /// The fault in words, for the operator.
        package var message: String {
            switch self {
            case .olderEpoch: "its ownership is older than one that this node has had"
            case .confirmedUnsent: "it confirmed an event that was never sent"
            }
        }
    }
}
