package import CallPorts

/// The requirements on an `OwnershipRegister`, and on the stores that its claims open.
///
/// Such a store must meet `StoreContract` and ``OwnershipContract`` as well.
package enum RegisterContract {
    /// A database, empty at first, in front of which faults can be caused; each case gets a new one.
    package protocol Storage: AnyObject {
        /// Returns the register of a node, not opened yet.
        ///
        /// The node `a-1` runs on the machine `a`. Faults concern one machine. The lease of a claim must last longer
        /// than a case.
        func makeRegister(
            node: NodeID,
            storeReport: @escaping @Sendable (StoreReport) -> Void,
            report: @escaping @Sendable (OwnershipReport) -> Void
        ) -> any OwnershipRegister

        /// Causes a fault between a machine and the database; `none` ends it.
        func cause(_ fault: OwnershipContract.Fault, at machine: String) throws
    }

    /// One requirement.
    package struct Case: Sendable, CustomStringConvertible {
        /// The requirement, for example "a claim against a stale epoch fails".
        package let description: String
        private let body: @Sendable (CompetingNodes) throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (CompetingNodes) throws -> Void) {
            self.description = description
            self.body = body
        }

        /// Runs the case.
        /// - Throws: `StoreContract.Violation`, or the failure of a store or of a register.
        package func run(at storage: any Storage) throws {
            let nodes = CompetingNodes(storage: storage)
            defer { nodes.closeIfOpen() }
            try body(nodes)
        }
    }

    /// All cases.
    package static let cases: [Case] = claiming + registering
}

extension RegisterContract {
    private static let claiming: [Case] = [
        Case("of three nodes that claim after the same ownership, exactly one succeeds") { nodes in
            let all = try ["a-1", "b-1", "c-1"].map { try nodes.opened($0) }
            for round in 0..<5 as Range<UInt64> {
                for node in all { node.requestClaim(after: round) }
                let outcomes = try all.map { try $0.outcome() }
                try expect(outcomes.filter { $0 == .lost }.count, 2, "claims that were lost in round \(round)")
                let winners = zip(all, outcomes).filter { $0.1 == .claimed }.map(\.0)
                try expect(winners.count, 1, "winners of round \(round)")
                for node in all {
                    let row = try node.row()
                    try expect(row.epoch, OwnerEpoch(rawValue: round + 1), "the epoch")
                    try expect(row.node, winners[0].id, "the owner")
                    try expect(row.address, winners[0].id.text, "the owner's address")
                    try expect(!row.isReleased && !row.isExpired && row.heir == nil, "\(row)")
                }
                try winners[0].server().save()
                winners[0].release()
            }
        },
        Case("a claim against a stale epoch fails, and changes nothing") { nodes in
            let (first, second) = (try nodes.opened("a-1"), try nodes.opened("b-1"))
            try expect(try first.claim(after: 0), .claimed, "the first claim")
            try expect(try second.claim(after: 0), .lost, "the second claim")
            try first.server().save()
            let row = try second.row()
            try expect(row.epoch.rawValue == 1 && row.node == first.id, "\(row)")
            // A released ownership is over too, but a claim has to name it.
            first.release()
            try expect(try second.claim(after: 0), .lost, "a claim after the release")
        },
        Case("a claim above an ownership that the database has lost begins a higher one") { nodes in
            let (first, second) = (try nodes.opened("a-1"), try nodes.opened("b-1"))
            try expect(try first.claim(after: 0, above: 7), .claimed, "the first claim")
            try expect(first.claimed?.epoch.rawValue, 8, "the epoch of the claim")
            try first.server().save()
            let row = try second.row()
            try expect(row.epoch.rawValue == 8 && row.node == first.id, "\(row)")
            try expect(try second.claim(after: 7, above: 9), .lost, "a claim after a lower ownership")
            try expect(try second.claim(after: 8, above: 3), .claimed, "the last claim")
            try expect(second.claimed?.epoch.rawValue, 9, "the epoch of the last claim")
        },
        Case("a claim does not wait for the lease, and a late commit of the former owner is refused") { nodes in
            let (first, second) = (try nodes.opened("a-1"), try nodes.opened("b-1"))
            try expect(try first.claim(after: 0), .claimed, "the first claim")
            try first.server().save()
            try expect(try second.row().isExpired, false, "whether the lease has run out")
            try expect(try second.claim(after: 1), .claimed, "the second claim")
            try expect(second.claimed?.state.uncleanStarts, 1, "unclean starts")
            let late = try first.server().commit()
            try first.storeReports.wait("deposed") { $0.reported.contains("deposed") }
            try expect(first.storeReports.now.committed.contains { $0.rawValue == late }, false, "the late commit")
            try second.server().save()
            try expect(try second.server().events(), ["a1", "b1"], "the events")
        },
        Case("a claim takes at most a second, even if the owner froze in a transaction") { nodes in
            let (first, second) = (try nodes.opened("a-1"), try nodes.opened("b-1"))
            try expect(try first.claim(after: 0), .claimed, "the first claim")
            try first.server().save()
            try nodes.storage.cause(.freezeWithinCommit, at: "a")
            try first.server().commit(weighing: 1 << 20)
            // The frozen transaction holds the lock on the owner's row.
            nodes.sleep(milliseconds: 300)
            let start = ContinuousClock.now
            try expect(try second.claim(after: 1), .claimed, "the second claim")
            let time = ContinuousClock.now - start
            try expect(time < .seconds(1), "the claim took \(time)")
            try second.server().save()
            try expect(try second.server().events(), ["a1", "b1"], "the events")
        },
        Case("an owner that releases the calls to an heir leaves no gap, and the record names the heir") { nodes in
            let (first, second) = (try nodes.opened("a-1"), try nodes.opened("b-1"))
            try expect(try first.claim(after: 0), .claimed, "the first claim")
            try first.server().save()
            first.release(to: second.id)
            let released = try second.row()
            try expect(released.heir, second.id, "the heir")
            try expect(released.isReleased && released.isExpired && released.node == first.id, "\(released)")
            try expect(try second.claim(after: 1), .claimed, "the second claim")
            try expect(second.claimed?.state.uncleanStarts, 0, "unclean starts")
            let row = try first.row()
            try expect(row.heir == nil && !row.isReleased && row.node == second.id, "\(row)")
            second.release()
            try expect(try first.row().heir, nil, "the heir of a release to any node")
            try expect(try first.claim(after: 2), .claimed, "the third claim")
            try expect(first.claimed?.state.uncleanStarts, 0, "unclean starts")
            try expect(try first.server().events(), ["a1"], "the events")
        },
    ]

    private static let registering: [Case] = [
        Case("before the first claim nobody owns the calls") { nodes in
            let row = try nodes.opened("a-1").row()
            try expect(row.epoch == .none && row.node == nil && row.isReleased && row.isExpired, "\(row)")
        },
        Case("all nodes have the same secret, also if they make it at the same time") { nodes in
            let secrets = try nodes.openAtOnce(["a-1", "b-1", "c-1"]) + [try nodes.node("a-2").open()]
            try expect(secrets.count, 4, "the number of secrets")
            try expect(secrets[0].count, 32, "the number of bytes")
            for secret in secrets { try expect(secret, secrets[0], "a secret") }
        },
        Case("a claim tells the other nodes that run") { nodes in
            let owner = try nodes.opened("a-1")
            let killed = try nodes.opened("c-2")
            _ = try nodes.opened("b-1")
            try nodes.opened("c-1").close()
            killed.crash()
            try expect(try owner.claim(after: 0), .claimed, "the claim")
            try expect(owner.claimed?.others.map(\.text).sorted(), ["b-1", "c-2"], "the nodes")
        },
        Case("the record cannot be read without contact to the database, and can be read afterwards") { nodes in
            let node = try nodes.opened("a-1")
            _ = try node.row()
            try nodes.storage.cause(.silence, at: "a")
            let start = ContinuousClock.now
            try expect(try node.isReadable(), false, "whether the record could be read")
            let time = ContinuousClock.now - start
            try expect(time < .seconds(2), "the failure took \(time)")
            try nodes.storage.cause(.none, at: "a")
            let deadline = ContinuousClock.now + .seconds(20)
            while try !node.isReadable() { try expect(.now < deadline, "the record cannot be read any more") }
            try expect(try node.claim(after: 0), .claimed, "the claim")
        },
        Case("each reading is reported, and nothing after the closing") { nodes in
            let node = try nodes.opened("a-1")
            for _ in 0..<10 { node.requestReading() }
            for _ in 0..<10 { _ = try node.nextRow() }
            node.close()
            node.requestReading()
            node.requestClaim(after: 0)
            nodes.sleep(milliseconds: 100)
            try expect(node.hasReport, false, "whether there is a report")
        },
    ]
}
