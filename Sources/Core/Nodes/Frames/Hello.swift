package import CallPorts

/// The first frame of each side of a link: who it is, and a challenge that the other side must answer.
///
/// Its form never changes, so nodes of all versions understand it.
package struct Hello: Equatable, Sendable {
    /// The newest version of the protocol that the node speaks.
    package var version: UInt16
    /// The oldest version that the node still speaks: a node speaks at least the version before its newest.
    package var oldestVersion: UInt16
    /// The node.
    package var node: NodeID
    /// The newest ownership that the node knows; from an owner, its own.
    package var epoch: OwnerEpoch
    /// Whether the node owns the calls.
    package var isOwner: Bool
    /// Random bytes, ``NodeLimits/challengeBytes`` of them, never used twice.
    package var challenge: [UInt8]

    /// Creates a hello.
    package init(
        version: UInt16 = Self.currentVersion,
        oldestVersion: UInt16 = Self.previousVersion,
        node: NodeID,
        epoch: OwnerEpoch,
        isOwner: Bool,
        challenge: [UInt8]
    ) {
        self.version = version
        self.oldestVersion = oldestVersion
        self.node = node
        self.epoch = epoch
        self.isOwner = isOwner
        self.challenge = challenge
    }

    /// The newest version of the protocol that this build speaks.
    ///
    /// Version 3 adds the claims of a token to the identity (`Principal.claims`).
    package static let currentVersion: UInt16 = 3
    /// The version before it, which this build still speaks with a node that is not updated yet.
    package static let previousVersion: UInt16 = 2

    /// The side of a link.
    package enum Side: UInt8, Sendable {
        /// The side that connected.
        case client = 1
        /// The side that accepted the connection.
        case server = 2
    }

    /// Returns the version that both sides speak, or `nil` if there is none.
    package func agreedVersion(with other: Hello) -> UInt16? {
        let version = min(version, other.version)
        return version >= max(oldestVersion, other.oldestVersion) ? version : nil
    }

    /// Returns the bytes of which a side sends the HMAC-SHA256, under the key that all nodes have from the database.
    ///
    /// They contain both hellos whole, so nothing in a hello can be changed on the way. They begin with the side, so a
    /// node's own proof cannot be sent back to it.
    package static func provenBytes(of side: Side, client: Hello, server: Hello) -> [UInt8] {
        var writer = FrameWriter()
        writer.bytes.append(contentsOf: "ringline link".utf8)
        writer.byte(side.rawValue)
        NodeFrame.hello(client).write(to: &writer)
        NodeFrame.hello(server).write(to: &writer)
        return writer.bytes
    }
}
