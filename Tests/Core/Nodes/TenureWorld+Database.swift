import CallCore
import CallPorts
import SeededRandom

@testable import Nodes

/// The database of the world, and the stores of its nodes.
extension TenureWorld {
    mutating func startCommit(_ epoch: OwnerEpoch, _ node: Int) {
        guard let store = nodes[node].stores.firstIndex(where: { $0.epoch == epoch }),
            nodes[node].stores[store].committingSince == nil
        else { return }
        nodes[node].stores[store].committingSince = now
        plan(.query(nodes[node].id, .commit(epoch)), after: delay())
    }

    /// Renews leases, and reports stalls.
    mutating func tendStores(of node: Int) {
        for store in nodes[node].stores {
            if now - store.lastCommit >= Self.renewal { startCommit(store.epoch, node) }
            if let since = store.committingSince, now - since >= Self.stall, !store.isStalled {
                setStalled(true, store.epoch, node)
                give(.storeStalled(store.epoch, true), to: node)
            }
        }
        for place in nodes[node].stores.indices {
            let store = nodes[node].stores[place]
            guard store.epoch != nodes[node].tenure.ownEpoch else { continue }
            nodes[node].stores[place].unownedSince = store.unownedSince ?? now
            // A store that is closed, but cannot reach the database, gives up as well.
            guard let since = store.unownedSince, now - since > 2_000, !store.isClosing else { continue }
            findings.append("\(nodes[node].id.text) keeps the store of \(store.epoch.rawValue)")
        }
    }

    private mutating func setStalled(_ isStalled: Bool, _ epoch: OwnerEpoch, _ node: Int) {
        for place in nodes[node].stores.indices where nodes[node].stores[place].epoch == epoch {
            nodes[node].stores[place].isStalled = isStalled
        }
    }

    private func hasStore(_ epoch: OwnerEpoch, _ node: Int) -> Bool {
        nodes[node].stores.contains { $0.epoch == epoch }
    }

    mutating func answer(_ query: Query, of id: NodeID) {
        guard let node = index(id) else { return }
        let isLost = !reachesDatabase(node)
        switch query {
        case .commit(let epoch), .release(let epoch, _):
            guard hasStore(epoch, node) else { return }
            if isLost || isPaused(node) {
                // The store sends an unanswered commit again until it has an answer.
                plan(.query(id, query), after: 100)
            } else if case .release(_, let heir) = query {
                release(epoch, heir, node)
            } else {
                commit(epoch, node)
            }
        case .read:
            guard !isLost else { return plan(.input(id, .rowUnreadable), after: 1_000) }
            var read = row
            read.lease = .milliseconds(row.isReleased ? 0 : leaseUntil - now)
            plan(.input(id, .rowRead(read)), after: delay())
        case .claim(let epoch, let known):
            guard !isLost else { return plan(.input(id, .claimFailed), after: 1_000) }
            claim(epoch, above: known, node)
        case .load(let epoch): load(epoch, isLost: isLost, node)
        }
    }

    private mutating func claim(_ epoch: OwnerEpoch, above known: OwnerEpoch, _ node: Int) {
        let id = nodes[node].id
        guard row.epoch == epoch else {
            plan(.input(id, .claimLost), after: delay())
            return
        }
        row = OwnerRow(
            epoch: OwnerEpoch(rawValue: max(epoch, known).rawValue + 1),
            node: id,
            address: "\(node)",
            lease: .milliseconds(0)
        )
        leaseUntil = now + Self.lease
        claims += 1
        note("\(id.text) claims as \(row.epoch.rawValue)")
        plan(.input(id, .loading), after: 1)
        plan(.query(id, .load(row.epoch)), after: Int64(20 + random.below(300)))
    }

    private mutating func load(_ epoch: OwnerEpoch, isLost: Bool, _ node: Int) {
        // Now and then the calls cannot be read, or an answer is lost, after the claim was carried out.
        guard !isLost, random.below(5) > 0 else {
            failedClaims += 1
            lastFault = max(lastFault, now)
            plan(.input(nodes[node].id, .claimFailed), after: 1_000)
            return
        }
        let others = Set(nodes.filter { $0.isAlive && $0.id != nodes[node].id }.map(\.id))
        plan(.input(nodes[node].id, .claimed(epoch, others: others)), after: delay())
    }

    private mutating func commit(_ epoch: OwnerEpoch, _ node: Int) {
        let id = nodes[node].id
        guard row.epoch == epoch || !isFenced else {
            refusals += 1
            plan(.input(id, .commitRefused(epoch)), after: delay())
            return
        }
        commitCount += 1
        if row.epoch == epoch { leaseUntil = now + Self.lease }
        commits[epoch, default: []].insert(id)
        if commits[epoch]?.count ?? 0 > 1 { findings.append("two nodes commit as \(epoch.rawValue)") }
        if epoch < newestCommit { findings.append("\(epoch.rawValue) commits behind \(newestCommit.rawValue)") }
        newestCommit = max(newestCommit, epoch)
        for place in nodes[node].stores.indices where nodes[node].stores[place].epoch == epoch {
            let wasStalled = nodes[node].stores[place].isStalled
            nodes[node].stores[place].lastCommit = now
            nodes[node].stores[place].committingSince = nil
            nodes[node].stores[place].isStalled = false
            if wasStalled { plan(.input(id, .storeStalled(epoch, false)), after: delay()) }
        }
    }

    private mutating func release(_ epoch: OwnerEpoch, _ heir: NodeID?, _ node: Int) {
        let id = nodes[node].id
        nodes[node].stores.removeAll { $0.epoch == epoch }
        guard row.epoch == epoch else {
            plan(.input(id, .commitRefused(epoch)), after: delay())
            return
        }
        row.isReleased = true
        row.heir = heir
        note("\(id.text) releases \(epoch.rawValue) to \(heir?.text ?? "any")")
        plan(.input(id, .released(epoch)), after: delay())
    }
}
