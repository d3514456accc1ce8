import CallCore
import CallPorts
import SeededRandom
import Testing

@testable import Nodes

extension TenureWorld {
    /// Causes a random fault.
    mutating func causeFault() throws {
        lastFault = now
        let node = random.below(3)
        let owner = nodes.firstIndex { $0.tenure.ownEpoch != nil } ?? node
        // Faults of the owner are the ones that matter most.
        let target = random.below(2) == 0 ? owner : node
        let length = Int64(200 + random.below(9_800))
        switch random.below(7) {
        case 0: try restart(target, after: Int64(random.below(8_000)))
        case 1:
            note("\(nodes[target].id.text) stands still for \(length) ms")
            nodes[target].pausedUntil = now + length
        case 2:
            note("\(nodes[target].id.text) is cut off from the database for \(length) ms")
            nodes[target].databaseCutUntil = now + length
        case 3, 4:
            let other = (target + 1 + random.below(2)) % 3
            note("nothing passes between \(target) and \(other) for \(length) ms")
            cutUntil[min(target, other) * 3 + max(target, other)] = now + length
        case 5:
            note("\(nodes[target].id.text) is to end")
            perform(.input(nodes[target].id, .terminate))
            try restart(target, after: 3_000, isKilled: false)
        default:
            note("the database is down for \(length / 4) ms")
            databaseDownUntil = now + length / 4
            lastFault = databaseDownUntil
        }
    }

    /// Kills the owner, and restores a backup of the database; returns the ownership in the backup.
    mutating func loseClaims() throws -> OwnerEpoch {
        let owner = nodes.firstIndex { $0.tenure.ownEpoch != nil }
        let older = OwnerEpoch(rawValue: row.epoch.rawValue - UInt64(1 + random.below(Int(row.epoch.rawValue))))
        note("the owner dies, and the database goes back to \(older.rawValue)")
        row = OwnerRow(epoch: older, node: nil, address: "", lease: .milliseconds(0))
        leaseUntil = now
        newestCommit = .none
        commits = [:]
        if let owner { try restart(owner, after: 10_000) }
        lastFault = now
        return older
    }

    /// Kills a node, or lets it end by itself, and starts it again as another run.
    private mutating func restart(_ node: Int, after pause: Int64, isKilled: Bool = true) throws {
        if !isKilled {
            run(until: now + pause)
            lastFault = now
        }
        note("\(nodes[node].id.text) dies")
        let id = nodes[node].id
        let ended = links.filter { $0.value.client == id || $0.value.server == id }.keys.sorted()
        for link in ended { endLink(link, by: id) }
        nodes[node].isAlive = false
        nodes[node].pausedUntil = 0
        nodes[node].held = []
        if isKilled { run(until: now + pause) }
        runs += 1
        let next = try #require(NodeID("n\(node)-\(runs)"))
        note("\(next.text) starts")
        nodes[node] = Node(id: next, tenure: Tenure(node: next), eligibleSince: now)
        plan(.input(next, .started), after: 1)
    }
}

@Suite("Three nodes and a database")
struct TenureWorldTests {
    private func world(_ seed: UInt64, isFenced: Bool = true, faults: Int = 25) throws -> TenureWorld {
        var world = try TenureWorld(seed: seed)
        world.isFenced = isFenced
        for _ in 0..<faults where world.findings.isEmpty {
            world.run(until: world.now + Int64(100 + world.random.below(world.random.below(3) == 0 ? 12_000 : 3_000)))
            try world.causeFault()
        }
        return world
    }

    @Test("Never two owners whose commits are accepted; an owner serves within 5 s", arguments: 1...100)
    func keeps(_ seed: UInt64) throws {
        var world = try world(seed)
        // All faults end, and an owner is found.
        world.run(until: world.now + 20_000)
        let claims = world.claims
        world.run(until: world.now + 20_000)
        #expect(world.findings == [], "seed \(seed):\n\(world.log.joined(separator: "\n"))")
        #expect(world.claims == claims, "without a fault nobody claims: seed \(seed)")
        let owners = world.nodes.filter(\.tenure.isServing)
        #expect(owners.count == 1, "seed \(seed)")
        let epoch = world.row.epoch
        #expect(owners.first?.tenure.state == .owning(epoch))
        #expect(world.nodes.count { $0.tenure.state == .following(epoch) } == 2, "seed \(seed)")
        #expect(world.commitCount > 100)
    }

    @Test(
        "After the database has lost claims and its owner, a node claims above all that the nodes know",
        arguments: 1...20
    )
    func losesClaims(_ seed: UInt64) throws {
        var world = try world(seed, faults: 5)
        world.run(until: world.now + 20_000)
        let known = world.row.epoch
        #expect(try world.loseClaims() < known)
        world.run(until: world.now + 20_000)
        #expect(world.findings == [], "seed \(seed):\n\(world.log.joined(separator: "\n"))")
        #expect(world.row.epoch > known, "seed \(seed):\n\(world.log.joined(separator: "\n"))")
        #expect(world.nodes.filter(\.tenure.isServing).count == 1)
    }

    @Test("One seed has one course")
    func isDeterministic() throws {
        let first = try world(7)
        let second = try world(7)
        #expect(first.log == second.log)
        #expect(first.commitCount == second.commitCount)
    }

    @Test("The checks find a database that does not compare the epoch")
    func findsMissingFence() throws {
        var found = 0
        for seed: UInt64 in 1...20 where try !world(seed, isFenced: false).findings.isEmpty { found += 1 }
        #expect(found > 10, "found in \(found) of 20 worlds")
    }

    @Test("The worlds have deposed owners that go on for a while, and claims that fail after they were carried out")
    func hasCourses() throws {
        var refusals = 0
        var claims = 0
        var failedClaims = 0
        var renewedTenures = 0
        for seed: UInt64 in 1...10 {
            let world = try world(seed)
            refusals += world.refusals
            claims += world.claims
            failedClaims += world.failedClaims
            renewedTenures += world.renewedTenures
        }
        #expect(refusals > 5)
        #expect(claims > 40)
        #expect(failedClaims > 4)
        #expect(renewedTenures > 10)
    }
}
