import CallCore
import CallPorts

/// The states in which other nodes own the calls, or none does.
extension Tenure {
    /// Whether the node has to read the row.
    var needsRow: Bool {
        switch state {
        case .searching: true
        case .following: isOwnerStalled
        case .claiming, .gathering, .owning, .releasing, .ended: false
        }
    }

    mutating func readRow(_ effects: inout [Effect]) {
        nextRead = nil
        guard !isReading else { return }
        isReading = true
        newestEpochBeforeRead = newestEpoch
        effects.append(.readRow)
    }

    /// Begins to search for the owner, without a link.
    mutating func search(at now: Moment, _ effects: inout [Effect]) {
        state = .searching
        // A read that is under way may have begun before what made this node search.
        if isReading { nextRead = now + NodeLimits.readInterval } else { readRow(&effects) }
    }

    /// Ends the link, or the attempt to open it, if there is one.
    mutating func disconnect(_ effects: inout [Effect]) {
        isOwnerStalled = false
        guard openLinkEpoch != nil || connecting != nil else { return }
        openLinkEpoch = nil
        connecting = nil
        effects.append(.disconnect)
    }

    mutating func rowRead(_ row: OwnerRow, at now: Moment, _ effects: inout [Effect]) {
        guard row.epoch >= newestEpoch || mayReplaceLostClaim(at: now) else {
            if needsRow { readLater(at: now) }
            return
        }
        if row.epoch >= newestEpoch { lossSeen = nil }
        newestEpoch = max(newestEpoch, row.epoch)
        switch state {
        case .searching: search(row, at: now, &effects)
        case .following(let epoch):
            if row.epoch > epoch {
                disconnect(&effects)
                state = .searching
                search(row, at: now, &effects)
            } else if isOwnerStalled {
                if row.isExpired, mayClaim(row, at: now) { claim(row.epoch, &effects) } else { readLater(at: now) }
            }
        case .claiming, .ended: break
        case .gathering(let epoch), .owning(let epoch), .releasing(let epoch, _):
            if row.epoch > epoch { end(.deposed(by: row.epoch), &effects) }
        }
    }

    /// Whether a row with a lower ownership than the newest one is used: the database has lost claims, and no owner has
    /// repeated its claim in time.
    private mutating func mayReplaceLostClaim(at now: Moment) -> Bool {
        // A read that began before a newer ownership became known tells nothing any more.
        guard needsRow, newestEpochBeforeRead == newestEpoch else { return false }
        let seen = lossSeen ?? now
        lossSeen = seen
        return now - seen >= NodeLimits.repeatedClaim
    }

    private mutating func search(_ row: OwnerRow, at now: Moment, _ effects: inout [Effect]) {
        guard !isFree(row) || !mayClaim(row, at: now) else {
            disconnect(&effects)
            claim(row.epoch, &effects)
            return
        }
        if let owner = row.node, owner != node, !row.isReleased, connecting == nil {
            connect(owner, row.address, row.epoch, at: now, &effects)
        }
        readLater(at: now)
    }

    /// Whether the calls may be claimed, as far as the row tells.
    ///
    /// A server that is not one of several nodes keeps its calls for as long as it renews the lease.
    private func isFree(_ row: OwnerRow) -> Bool {
        // A row with this node's id, while the node owns nothing, is from a claim whose result was lost, or from an
        // ownership that the process could not release.
        row.isExpired || row.isReleased || row.node == node
    }

    private mutating func mayClaim(_ row: OwnerRow, at now: Moment) -> Bool {
        guard !pausesClaims(at: now) else { return false }
        guard row.isReleased, let heir = row.heir, heir != node else { return true }
        if heirSeen?.epoch != row.epoch { heirSeen = (row.epoch, now) }
        return heirSeen.map { now - $0.at >= NodeLimits.heirPrecedence } ?? true
    }

    /// Whether the node leaves the claim to others.
    private func pausesClaims(at now: Moment) -> Bool { claimPauseEnd.map { now < $0 } ?? false }

    mutating func readLater(at now: Moment) { nextRead = now + NodeLimits.readInterval }

    private mutating func connect(
        _ owner: NodeID,
        _ address: String,
        _ epoch: OwnerEpoch,
        at now: Moment,
        _ effects: inout [Effect]
    ) {
        ownerAddress = (owner, address)
        connecting = (epoch, now + NodeLimits.connecting)
        effects.append(.connect(owner, address: address))
    }

    private mutating func claim(_ epoch: OwnerEpoch, _ effects: inout [Effect]) {
        nextRead = nil
        state = .claiming(after: epoch)
        isClaimDurable = false
        effects.append(.claim(after: epoch, above: newestEpoch))
    }

    // MARK: The link to the owner

    mutating func linkOpened(_ epoch: OwnerEpoch, at now: Moment, _ effects: inout [Effect]) {
        guard case .searching = state, connecting != nil else { return }
        guard epoch >= newestEpoch else {
            // The other node does not know yet that it was deposed.
            effects.append(.depose(by: newestEpoch))
            disconnect(&effects)
            if nextRead == nil { readLater(at: now) }
            return
        }
        connecting = nil
        lossSeen = nil
        newestEpoch = epoch
        openLinkEpoch = epoch
        linkedEpoch = epoch
        state = .following(epoch)
        nextRead = nil
        effects.append(.attach(epoch))
    }

    /// Records that the attempt to connect has failed; the next read of the row makes another.
    mutating func endAttempt(at now: Moment) {
        connecting = nil
        if needsRow, nextRead == nil, !isReading { readLater(at: now) }
    }

    mutating func linkRefused(at now: Moment, _ effects: inout [Effect]) {
        guard let attempt = connecting else { return }
        endAttempt(at: now)
        guard case .searching = state, attempt.epoch == linkedEpoch, attempt.epoch == newestEpoch,
            !pausesClaims(at: now)
        else { return }
        claim(attempt.epoch, &effects)
    }

    mutating func linkLost(_ end: LinkEnd, at now: Moment, _ effects: inout [Effect]) {
        guard openLinkEpoch != nil else { return }
        openLinkEpoch = nil
        isOwnerStalled = false
        guard case .following(let epoch) = state else { return }
        search(at: now, &effects)
        // The row is read all the same: the owner may have been replaced.
        if end == .closed, let owner = ownerAddress {
            connect(owner.node, owner.address, epoch, at: now, &effects)
        }
    }

    mutating func ownerStalled(_ isStalled: Bool, _ effects: inout [Effect]) {
        guard openLinkEpoch != nil else { return }
        isOwnerStalled = isStalled
        guard case .following = state else { return }
        if isStalled { readRow(&effects) } else { nextRead = nil }
    }

    mutating func ownerReleased(_ heir: NodeID?, at now: Moment, _ effects: inout [Effect]) {
        guard openLinkEpoch != nil else { return }
        disconnect(&effects)
        guard case .following(let epoch) = state else { return }
        if heir == node, !pausesClaims(at: now) { claim(epoch, &effects) } else { search(at: now, &effects) }
    }
}
