import CallCore
import CallPorts

/// The states in which this node claims or owns the calls.
extension Tenure {
    mutating func claimed(
        _ epoch: OwnerEpoch,
        others: Set<NodeID>,
        at now: Moment,
        _ effects: inout [Effect]
    ) {
        guard case .claiming = state else {
            // A store that is not closed would renew its lease for ever.
            if epoch != ownEpoch { effects.append(.release(epoch, heir: nil)) }
            return
        }
        let isNewest = epoch >= newestEpoch
        newestEpoch = max(newestEpoch, epoch)
        // The node may still have a link to an owner with a stalled store.
        if openLinkEpoch != nil { effects.append(.depose(by: newestEpoch)) }
        disconnect(&effects)
        guard !isTerminating else {
            release(epoch, heir: nil, at: now, &effects)
            return
        }
        guard isNewest else {
            // Another node has claimed behind this claim.
            effects.append(.release(epoch, heir: nil))
            search(at: now, &effects)
            return
        }
        state = .gathering(epoch)
        expectedNodes = others.subtracting([node])
        phaseEnd = now + NodeLimits.gathering
        effects.append(.gather(epoch))
        serveIfGathered(&effects)
    }

    mutating func claimLost(at now: Moment, _ effects: inout [Effect]) {
        guard case .claiming = state else { return }
        disconnect(&effects)
        guard !isTerminating else { return end(.terminated, &effects) }
        // The node that has won needs a moment before it accepts links.
        state = .searching
        readLater(at: now)
    }

    mutating func claimFailed(at now: Moment, _ effects: inout [Effect]) {
        guard case .claiming = state else { return }
        claimPauseEnd = now + NodeLimits.claimPause
        // The row tells whether the claim was carried out.
        guard !isTerminating else { return end(.terminated, &effects) }
        guard let openLinkEpoch else { return search(at: now, &effects) }
        state = .following(openLinkEpoch)
        if isOwnerStalled { nextRead = now + NodeLimits.readInterval }
    }

    // MARK: The other nodes

    mutating func nodeAttached(_ other: NodeID, at now: Moment, _ effects: inout [Effect]) {
        guard ownEpoch != nil else { return }
        attachedNodes.insert(other)
        // A node that attaches now was not there when the others were told.
        if isStoreStalled { effects.append(.announceStall(true)) }
        serveIfGathered(&effects)
    }

    private mutating func serveIfGathered(_ effects: inout [Effect]) {
        guard case .gathering(let epoch) = state, expectedNodes.isSubset(of: attachedNodes) else { return }
        serve(epoch, &effects)
    }

    private mutating func serve(_ epoch: OwnerEpoch, _ effects: inout [Effect]) {
        state = .owning(epoch)
        phaseEnd = nil
        expectedNodes = []
        effects.append(.serve(epoch))
    }

    mutating func storeStalled(_ epoch: OwnerEpoch, _ isStalled: Bool, _ effects: inout [Effect]) {
        guard ownEpoch == epoch, isStoreStalled != isStalled else { return }
        isStoreStalled = isStalled
        effects.append(.announceStall(isStalled))
    }

    // MARK: The end

    /// Ends a phase that has lasted for its longest time.
    mutating func endPhase(at now: Moment, _ effects: inout [Effect]) {
        phaseEnd = nil
        switch state {
        case .gathering(let epoch): serve(epoch, &effects)
        case .releasing: end(.releaseOverdue, &effects)
        case .claiming: end(.terminated, &effects)
        case .searching, .following, .owning, .ended: break
        }
    }

    /// Begins the release of the calls.
    mutating func release(_ epoch: OwnerEpoch, heir: NodeID?, at now: Moment, _ effects: inout [Effect]) {
        state = .releasing(epoch, heir: heir)
        phaseEnd = now + NodeLimits.release
        effects.append(.release(epoch, heir: heir))
    }

    mutating func released(_ epoch: OwnerEpoch, _ effects: inout [Effect]) {
        guard case .releasing(epoch, let heir) = state else { return }
        effects.append(.announceRelease(heir: heir))
        end(.released, &effects)
    }
}
