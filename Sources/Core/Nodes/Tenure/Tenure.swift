package import CallCore
package import CallPorts

/// One node's view of who owns the calls.
///
///     searching ── link opened ──────────────────────────▶ following
///     searching ── row is free, process is gone ─────────▶ claiming
///     following ── link lost, calls released,
///                  newer ownership ──────────────────────▶ searching
///     following ── owner's store has stalled, the
///                  lease has run out, this is the heir ──▶ claiming
///     claiming ─── claimed ──────────────────────────────▶ gathering
///     claiming ─── claim lost, failed or overtaken ──────▶ searching
///     claiming ─── claim failed, link still open ────────▶ following
///     gathering ── all nodes attached, 300 ms ───────────▶ owning
///     gathering, owning ── terminating ──────────────────▶ releasing
///     claiming ─── claimed, terminating ─────────────────▶ releasing
///     releasing ── released, 5 s ────────────────────────▶ ended
///     gathering, owning, releasing ── deposed ───────────▶ ended
///     searching, following, claiming ── terminating ─────▶ ended
///
/// A row is free if the lease has run out, if it is released, or if it names this node, which then owns nothing. When
/// the process terminates, a pending claim ends first, within 5 s.
///
/// It decides *when* a node claims the calls, and nothing else. It is not what keeps two nodes from owning them: the
/// database refuses each commit of an earlier ownership, however wrong the clocks and the links are.
///
/// - A node with a sound link claims only when the owner has released the calls to it, or reports a stalled store and
///   the lease has run out.
/// - A node claims at once when its link was lost and the owner's system refuses a new one, or another run of the node
///   answers there, because then the owner's process is gone. That holds only for an owner to which the node had a link: the refusal of an address that never
///   worked may be a mistake in the settings.
/// - Otherwise a node without a link reads the row every ``NodeLimits/readInterval``, and claims when the row
///   is free.
/// - A row with a lower ownership than one that the node knew before it read the row means that the database has lost
///   claims: a backup was restored, or a standby without the newest commits has taken over. A live owner may
///   re-claim when it connects again, so the node leaves it ``NodeLimits/repeatedClaim``. Then it treats the row as
///   every other one, and claims above all ownerships that it knows.
///
/// An owner never follows another: when it is deposed or has released the calls, its tenure ends. A deposed process
/// re-executes, with a new tenure; one that has released the calls ends.
package struct Tenure: Sendable {
    /// The states of a tenure.
    package enum State: Equatable, Sendable {
        /// The node has no owner. Leads to `following`, `claiming`, `ended`.
        case searching
        /// The node has a link to the owner. Leads to `searching`, `claiming`, `ended`.
        case following(OwnerEpoch)
        /// The node claims the calls and reads them. Leads to `searching`, `following`, `gathering`, `releasing`,
        /// `ended`.
        case claiming(after: OwnerEpoch)
        /// The node owns the calls, and waits for the other nodes. Leads to `owning`, `releasing`, `ended`.
        case gathering(OwnerEpoch)
        /// The node decides. Leads to `releasing`, `ended`.
        case owning(OwnerEpoch)
        /// The node takes no more events, and commits the rest. Leads to `ended`.
        case releasing(OwnerEpoch, heir: NodeID?)
        /// Nothing more happens.
        case ended(Ending)
    }

    /// The reasons why a tenure has ended.
    package enum Ending: Equatable, Sendable {
        /// Superseded by this ownership; `nil` = its number is unknown: a commit was refused.
        case deposed(by: OwnerEpoch?)
        /// The calls were released.
        case released
        /// The release took longer than ``NodeLimits/release``; the calls stay with the node until the lease runs out.
        case releaseOverdue
        /// The process terminates, and the node owned no calls.
        case terminated
    }

    /// The state.
    package internal(set) var state = State.searching
    /// The node.
    package let node: NodeID
    /// The newest ownership that the node knows.
    package internal(set) var newestEpoch = OwnerEpoch.none

    /// Whether the node has started.
    var hasStarted = false
    /// Whether the process is terminating.
    var isTerminating = false
    /// The ownership of the owner at the other end of the open link; `nil` = no link is open.
    var openLinkEpoch: OwnerEpoch?
    /// The newest ownership to whose owner the node has had a link.
    var linkedEpoch = OwnerEpoch.none
    /// The address of the owner to which the node has or had its last link.
    var ownerAddress: (node: NodeID, address: String)?
    /// The ownership of the row from which the attempt to connect was made; `nil` = no attempt is under way.
    var connecting: (epoch: OwnerEpoch, until: Moment)?
    /// Whether a read of the row is under way.
    var isReading = false
    /// The newest ownership that the node knew when the last read of the row began.
    var newestEpochBeforeRead = OwnerEpoch.none
    /// When the node first saw that the database has lost claims; `nil` = the last row that it used had lost none.
    var lossSeen: Moment?
    /// When the next read of the row is due; `nil` = none is.
    var nextRead: Moment?
    /// Whether the owner reports a stalled store.
    var isOwnerStalled = false
    /// When the node first saw a row that was released to another node.
    var heirSeen: (epoch: OwnerEpoch, at: Moment)?
    /// Until when the node leaves the claim to others, because its own has failed.
    var claimPauseEnd: Moment?
    /// Whether the claim that is under way is durable.
    var isClaimDurable = false

    /// Whether this owner's store is stalled.
    var isStoreStalled = false
    /// The nodes that are attached to this owner.
    var attachedNodes: Set<NodeID> = []
    /// The nodes for which `gathering` waits.
    var expectedNodes: Set<NodeID> = []
    /// Deadline of `gathering`, of `releasing`, or of a terminating node's pending claim.
    var phaseEnd: Moment?

    /// Creates the tenure of a node.
    package init(node: NodeID) { self.node = node }

    /// The ownership of this node; `nil` = the node owns no calls.
    package var ownEpoch: OwnerEpoch? {
        switch state {
        case .gathering(let epoch), .owning(let epoch), .releasing(let epoch, _): epoch
        case .searching, .following, .claiming, .ended: nil
        }
    }

    /// Whether the node has claimed the calls, and is reading them.
    package var isLoading: Bool { if case .claiming = state { isClaimDurable } else { false } }

    /// Whether the node takes events as the owner.
    package var isServing: Bool { if case .owning = state { true } else { false } }

    /// Whether the node takes no more events: its process is terminating, or its part in the calls is over.
    ///
    /// A claim may still be under way then; its calls are released again.
    package var isLeaving: Bool { if case .ended = state { true } else { isTerminating } }

    /// The next moment at which the node passes in ``Input/deadlineReached``; `nil` = none.
    package var deadline: Moment? {
        var next = phaseEnd
        if !isReading, let read = nextRead { next = min(next ?? read, read) }
        if let attempt = connecting { next = min(next ?? attempt.until, attempt.until) }
        return next
    }

    /// Handles an input at a moment, and appends the effects.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        if case .ended = state {
            // A claim that was under way at the end must not keep the calls from other nodes.
            if case .claimed(let epoch, _) = input { effects.append(.release(epoch, heir: nil)) }
            return
        }
        switch input {
        case .started:
            guard !hasStarted else { return }
            hasStarted = true
            readRow(&effects)
        case .deadlineReached: reachDeadlines(at: now, &effects)
        case .terminate: terminate(at: now, &effects)
        case .rowRead(let row):
            isReading = false
            rowRead(row, at: now, &effects)
        case .rowUnreadable:
            isReading = false
            if needsRow { nextRead = now + NodeLimits.readInterval }
        case .loading: if case .claiming = state { isClaimDurable = true }
        case .claimed(let epoch, let others): claimed(epoch, others: others, at: now, &effects)
        case .claimLost: claimLost(at: now, &effects)
        case .claimFailed: claimFailed(at: now, &effects)
        case .commitRefused(let epoch): if ownEpoch == epoch { end(.deposed(by: nil), &effects) }
        case .storeStalled(let epoch, let isStalled): storeStalled(epoch, isStalled, &effects)
        case .released(let epoch): released(epoch, &effects)
        case .linkOpened(let epoch): linkOpened(epoch, at: now, &effects)
        case .linkRefused: linkRefused(at: now, &effects)
        case .linkFailed: if connecting != nil { endAttempt(at: now) }
        case .linkLost(let end): linkLost(end, at: now, &effects)
        case .ownerStalled(let isStalled): ownerStalled(isStalled, &effects)
        case .ownerReleased(let heir): ownerReleased(heir, at: now, &effects)
        case .nodeAttached(let other): nodeAttached(other, at: now, &effects)
        case .nodeDetached(let other): attachedNodes.remove(other)
        case .heardOf(let epoch): heardOf(epoch, at: now, &effects)
        }
    }

    private mutating func reachDeadlines(at now: Moment, _ effects: inout [Effect]) {
        if let attempt = connecting, attempt.until <= now {
            effects.append(.disconnect)
            endAttempt(at: now)
        }
        if let due = nextRead, due <= now, !isReading { readRow(&effects) }
        if let due = phaseEnd, due <= now { endPhase(at: now, &effects) }
    }

    private mutating func terminate(at now: Moment, _ effects: inout [Effect]) {
        guard !isTerminating else { return }
        isTerminating = true
        switch state {
        case .searching, .following: end(.terminated, &effects)
        // A claim that is under way is released when its result is there.
        case .claiming: phaseEnd = now + NodeLimits.release
        case .gathering(let epoch), .owning(let epoch):
            release(epoch, heir: attachedNodes.min(), at: now, &effects)
        case .releasing, .ended: break
        }
    }

    /// Ends this node's ownership, or its link, because of a newer ownership.
    private mutating func heardOf(_ epoch: OwnerEpoch, at now: Moment, _ effects: inout [Effect]) {
        guard epoch > newestEpoch else { return }
        newestEpoch = epoch
        lossSeen = nil
        if ownEpoch != nil {
            end(.deposed(by: epoch), &effects)
        } else if case .following = state {
            disconnect(&effects)
            search(at: now, &effects)
        }
    }

    /// Ends the tenure.
    mutating func end(_ ending: Ending, _ effects: inout [Effect]) {
        disconnect(&effects)
        if let epoch = ownEpoch { effects.append(.drop(epoch)) }
        state = .ended(ending)
        nextRead = nil
        phaseEnd = nil
        attachedNodes = []
        expectedNodes = []
    }
}
