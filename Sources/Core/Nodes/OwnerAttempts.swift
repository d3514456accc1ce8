package import CallCore
package import CallPorts

/// An edge's attempts to reach the owner of the calls: when it pauses, and what its operator is told.
package struct OwnerAttempts: Equatable, Sendable {
    /// A report for the operator: the owner could not be reached for ``NodeLimits/reportUnreachableAfter``.
    package struct Unreachable: Equatable, Sendable {
        /// The owner.
        package let owner: NodeID
        /// The owner's address, as the database has it.
        package let address: String
        /// Why the last attempt failed.
        package let reason: String
    }

    /// The node to which the last attempt was made; `nil` = there was none.
    package private(set) var owner: NodeID?
    /// Whether the owner has as many links as it can have, and so has refused this node.
    package private(set) var isRefused = false

    private var address = ""
    /// Since when all attempts to reach the owner have failed.
    private var since: Moment?
    private var reason = "no response"
    private var isReported = false
    private var refusalReportedAt: Moment?
    /// How many links in a row have ended within a second.
    private var shortLinks = 0
    /// Until when the node waits before it connects again.
    private var pauseEnd: Moment?

    /// Creates the attempts of a node that starts.
    package init() {}

    /// Whether the node may connect now.
    package func mayConnect(at now: Moment) -> Bool { pauseEnd.map { now >= $0 } ?? true }

    /// Begins an attempt.
    ///
    /// - Returns: A report, once for all attempts at an address that fail one after another.
    package mutating func begin(_ owner: NodeID, at address: String, now: Moment) -> Unreachable? {
        let isOther = owner != self.owner || address != self.address
        if isOther { (isRefused, pauseEnd, shortLinks) = (false, nil, 0) }
        // A pause is no attempt.
        guard mayConnect(at: now) else {
            since = nil
            return nil
        }
        if isOther || since == nil {
            (self.owner, self.address, since) = (owner, address, now)
            (reason, isReported) = ("no response", false)
        }
        guard let since, now - since >= NodeLimits.reportUnreachableAfter, !isReported, !isRefused else {
            return nil
        }
        isReported = true
        return Unreachable(owner: owner, address: address, reason: reason)
    }

    /// Records why an attempt failed.
    package mutating func failed(_ reason: String) {
        self.reason = reason
        isRefused = false
    }

    /// Records that the node answers, and is reading the calls that it has claimed.
    package mutating func noteClaiming() {
        since = nil
        isRefused = false
    }

    /// Records that a link is open.
    package mutating func opened() {
        since = nil
        isRefused = false
    }

    /// Records that the owner has refused this node for want of a link; the node pauses.
    ///
    /// - Returns: Whether to tell the operator: at most once per minute.
    package mutating func refused(at now: Moment) -> Bool {
        isRefused = true
        since = nil
        pauseEnd = now + NodeLimits.connectPause
        if let last = refusalReportedAt, now - last < NodeLimits.refusalReports { return false }
        refusalReportedAt = now
        return true
    }

    /// Records the end of an open link; after three that ended within a second, the node pauses.
    package mutating func ended(afterBeginningAt beginning: Moment, now: Moment) {
        shortLinks = now - beginning < .seconds(1) ? shortLinks + 1 : 0
        pauseEnd = shortLinks >= 3 ? now + NodeLimits.connectPause : nil
    }
}
