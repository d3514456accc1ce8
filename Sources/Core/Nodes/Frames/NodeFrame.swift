package import CallCore
package import CallPorts

/// A frame on the link between two nodes.
///
/// On the wire it is its length in four bytes, one byte for its kind, and its fields in order. Numbers are big-endian.
/// An edge connects to the owner; both send ``hello(_:)``, then ``proof(_:)``. The edge sends one ``adopt(_:)`` for
/// each socket that it brings, then ``adoptionComplete``, and from then on its events.
package enum NodeFrame: Equatable, Sendable {
    /// Who a side is; the first frame of each side.
    indirect case hello(Hello)
    /// The HMAC-SHA256 of ``Hello/provenBytes(of:client:server:)``; the second frame of each side.
    case proof([UInt8])
    /// The link is not served; the sender closes it.
    case refused(LinkRefusal)
    /// A ping with a number.
    case ping(UInt64)
    /// The response to a ping.
    case pong(UInt64)
    /// The owner's store has stalled, or works again.
    case storeStalled(Bool)
    /// An event of the edge; its number is higher than the one before it, also on a new link.
    case event(UInt64, SocketEvent)
    /// All events up to this number have been handled, and what they changed is durable.
    case confirmed(upTo: UInt64)
    /// A command of the owner.
    case command(SocketCommand)
    /// A socket that the edge brings.
    indirect case adopt(AdoptedSocket)
    /// The edge has brought all its sockets.
    case adoptionComplete
    /// The owner has released the calls to a node, or to any node.
    case released(heir: NodeID?)
    /// Another node owns the calls, in this newer ownership.
    case deposed(by: OwnerEpoch)
    /// From an edge: its operator revokes the tokens of a user that were issued up to a moment of the wall clock. From
    /// the owner, with the same contents: this was done, and is durable.
    case revocation(UserID, upTo: Moment)

    /// The reason why a link is not served.
    package enum LinkRefusal: UInt8, CaseIterable, Sendable {
        /// No version of the protocol is common to both nodes.
        case version = 1
        /// The proof is wrong: the nodes use different databases.
        case proof = 2
        /// The node does not own the calls.
        case notOwner = 3
        /// The node has as many links as it can have.
        case full = 4
        /// The node has claimed the calls, and is reading them.
        case claiming = 5
    }
}

/// The reason why bytes are not a frame.
package struct NodeFrameError: Error, Equatable, Sendable {
    /// The kinds of fault.
    package enum Fault: String, Sendable {
        /// The frame ends within the field.
        case truncated = "truncated"
        /// The field is longer than it may be.
        case tooLong = "too long"
        /// The field has a value that this version does not know.
        case unknown = "unknown value"
        /// The field's value does not have its form.
        case invalid = "invalid"
        /// Bytes follow the last field.
        case trailing = "trailing bytes"
    }

    /// The field, as `frame.field`.
    package let field: String
    /// The fault.
    package let fault: Fault

    init(_ field: StaticString, _ fault: Fault) {
        self.field = "\(field)"
        self.fault = fault
    }

    /// The fault in words: `received.message: too long`.
    package var message: String { "\(field): \(fault.rawValue)" }
}
