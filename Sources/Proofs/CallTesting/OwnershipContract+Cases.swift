import CallPorts

extension OwnershipContract {
    /// Claims and releases, crashed owners, and an owner that does not know that another server has claimed the
    /// database.
    static let claiming: [Case] = [
        Case("of three servers that claim at the same time, exactly one succeeds") { servers in
            for round in 1...5 {
                let winners = try servers.race(["a", "b", "c"])
                try expect(winners.count, 1, "the number of servers that own the database in round \(round)")
                for winner in winners { winner.close() }
            }
        },
        Case("a server without traffic keeps its lease, and another server is refused") { servers in
            let (first, second) = (servers.server("a"), servers.server("b"))
            try first.open()
            servers.sleep(milliseconds: 3 * servers.storage.leaseMilliseconds)
            do {
                try second.open()
                throw StoreContract.Violation(description: "two servers own the database")
            } catch let failure as StoreFailure {
                try expect(failure.message.contains("in use by another ringline, on a"), failure.message)
            }
            try first.save()
        },
        Case("after a release the next server claims at once, and counts no unclean start") { servers in
            for node in ["a", "b", "a"] {
                let server = servers.server(node)
                let start = ContinuousClock.now
                try expect(try server.open().uncleanStarts, 0, "unclean starts that \(node) counts")
                try expect(.now - start < .milliseconds(servers.storage.leaseMilliseconds), "the claim waited")
                try server.save()
                server.close()
            }
        },
        Case("after a crash another machine's server waits for the lease, and counts an unclean start") { servers in
            let (first, second) = (servers.server("a"), servers.server("b"))
            try first.open()
            try first.save()
            first.crash()
            try expect(try second.open().uncleanStarts, 1, "unclean starts")
            try expect(try second.events(), ["a1"], "the events")
        },
        Case("after a crash a server on the same machine claims at once, and counts an unclean start") { servers in
            let (first, second) = (servers.server("a"), servers.server("a"))
            try first.open()
            first.crash()
            let start = ContinuousClock.now
            try expect(try second.open().uncleanStarts, 1, "unclean starts")
            try expect(.now - start < .milliseconds(servers.storage.leaseMilliseconds), "the claim waited")
        },
        Case("a commit after another server's claim is refused, and its server reports that it is deposed") { servers in
            let (first, second) = (servers.server("a"), servers.server("b"))
            try first.open()
            try first.save()
            try servers.storage.cause(.silence, at: "a")
            let late = first.commit()
            try second.open()
            try second.save()
            try servers.storage.cause(.none, at: "a")
            try first.reports.wait("deposed") { $0.reported.contains("deposed") }
            try expect(first.reports.now.committed.contains { $0.rawValue == late }, false, "the late commit")
            first.commit()
            try second.save()
            try expect(try second.events(), ["a1", "b1", "b2"], "the events")
        },
        Case("a claim takes at most a second after the lease, even if the owner froze in a transaction") { servers in
            let (first, second) = (servers.server("a"), servers.server("b"))
            try first.open()
            try first.save()
            try servers.storage.cause(.freezeWithinCommit, at: "a")
            first.commit(weighing: 1 << 20)
            // The frozen transaction holds the lock on the owner's row.
            servers.sleep(milliseconds: servers.storage.leaseMilliseconds)
            let start = ContinuousClock.now
            try second.open()
            let time = ContinuousClock.now - start
            try expect(time < .seconds(1), "the claim took \(time)")
            try second.save()
            try expect(try second.events(), ["a1", "b1"], "the events")
        },
    ]

    /// Lost connections and lost commits, after which a server must find out which commits are durable.
    static let recovering: [Case] = [
        Case("a commit is not lost if its connection is cut before it reaches the database") { servers in
            try cut(.cutBeforeCommit, servers)
        },
        Case("a commit is not carried out twice if its connection is cut before the confirmation") { servers in
            try cut(.cutBeforeConfirmation, servers)
        },
        Case("a store without contact to its database stalls, and commits everything in order afterwards") { servers in
            let server = servers.server("a")
            try server.open()
            try server.save()
            try servers.storage.cause(.silence, at: "a")
            server.commit()
            try server.reports.wait("stalled") { $0.reported.last == "stalled" }
            server.commit()
            try servers.storage.cause(.none, at: "a")
            try server.wait(for: 3)
            try expect(try server.events(), ["a1", "a2", "a3"], "the events")
            let reported = server.reports.now.reported
            let others = reported.filter { !$0.hasPrefix("committed") }
            try expect(others, ["stalled", "recovered", "answered 1"], "the reports but those of commits")
        },
        Case("commits that the database has lost are sent again, once each") { servers in
            let server = servers.server("a")
            try server.open()
            for _ in 1...20 { try server.save() }
            try servers.storage.forget(after: 10)
            try server.save()
            try expect(try server.events(), (1...21).map { "a\($0)" }, "the events")
            let reported = server.reports.now.reported
            try expect(reported.contains("behind 10 0"), "\(reported)")
            server.close()
            let next = servers.server("b")
            try expect(try next.open().uncleanStarts, 0, "unclean starts")
        },
    ]

    private static func cut(_ fault: Fault, _ servers: CompetingServers) throws {
        let server = servers.server("a")
        try server.open()
        try server.save()
        for round in 1...5 as ClosedRange<UInt64> {
            try servers.storage.cause(fault, at: "a")
            let ticket = server.commit()
            server.commit()
            try server.wait(for: ticket + 1)
            try expect(ticket, 2 * round, "the ticket")
        }
        try expect(try server.events(), (1...11).map { "a\($0)" }, "the events")
        try expect(server.reports.now.reported.contains("deposed"), false, "whether the server was deposed")
    }
}
