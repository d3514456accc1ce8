package import CallCore

/// The times and sizes that all nodes of a cluster share.
package enum NodeLimits {
    // MARK: Ownership

    /// The time between two reads of the owner's row.
    package static let readInterval = Moment.Duration.milliseconds(250)
    /// The time in which another node must accept a link and prove itself.
    package static let connecting = Moment.Duration.seconds(1)
    /// The longest time for which a new owner waits for the other nodes before it takes events.
    package static let gathering = Moment.Duration.milliseconds(300)
    /// The time for which the heir alone may claim a released row.
    package static let heirPrecedence = Moment.Duration.milliseconds(500)
    /// How long a live owner may re-claim after a fail-over lost its claim.
    package static let repeatedClaim = Moment.Duration.seconds(2)
    /// The time for which a node whose claim failed leaves the claim to others.
    package static let claimPause = Moment.Duration.seconds(2)
    /// The longest time that a release may take; after it the lease runs out.
    package static let release = Moment.Duration.seconds(5)

    // MARK: Links

    /// The time between two pings on a link.
    package static let linkPing = Moment.Duration.milliseconds(500)
    /// A link on which nothing has arrived for this time is dead.
    package static let linkSilence = Moment.Duration.milliseconds(1_500)

    /// The links that may be accepted and not proved at the same time.
    package static let unprovenLinks = 128
    /// The links from one address that may be accepted and not proved at the same time.
    package static let unprovenLinksOfAddress = 16
    /// The operator is told of an owner that could not be reached for this time.
    package static let reportUnreachableAfter = Moment.Duration.seconds(2)
    /// The pause before a node connects again, after the owner had no place for it or three links in a row ended within a
    /// second.
    package static let connectPause = Moment.Duration.seconds(3)
    /// The shortest time between two reports that the owner has no place for this node, or for another one.
    package static let refusalReports = Moment.Duration.seconds(60)

    // MARK: Edges

    /// The bytes of events that may wait for a new owner.
    ///
    /// Above this limit an edge closes sockets that send more, and refuses requests with 503.
    package static let waitingEvents = 8 << 20
    /// The bytes of events of one socket that may wait for a new owner, before another one closes the socket.
    package static let waitingEventsOfSocket = 64 << 10
    /// The bytes of events of one user's sockets that may wait for a new owner.
    package static let waitingEventsOfUser = 256 << 10
    /// The bytes of events of all Socket.IO sessions, whose users the edge does not know, that may wait.
    package static let waitingSocketIO = 2 << 20
    /// The bytes of requests that may wait for a new owner.
    package static let waitingRequests = 2 << 20
    /// The bytes that are counted for each waiting event in addition to its payload.
    package static let eventOverhead = 64
    /// An edge without an owner is not ready after this time.
    package static let unreadyAfter = Moment.Duration.seconds(2)
    /// An edge without an owner closes its sockets after this time, unless a node says that it is reading the calls
    /// that it has claimed.
    package static let closingAfter = Moment.Duration.seconds(10)
    /// The same limit while a node says so: its claim may never come to an end.
    package static let closingDespiteClaim = Moment.Duration.seconds(60)
    /// The number of calls for which an edge remembers, for each socket, how far it was written their logs.
    package static let seenCalls = 32

    // MARK: Frames

    /// The largest frame, in bytes without its length.
    package static let frameBytes = 4 << 20
    /// The longest text in a frame, in bytes: a header, a path, a value of a query.
    package static let textBytes = 1 << 16
    /// The most elements of a list in a frame.
    package static let listCount = 4_096
    /// The size of a challenge, in bytes.
    package static let challengeBytes = 32
    /// The size of a proof, in bytes: HMAC-SHA256.
    package static let proofBytes = 32
}
