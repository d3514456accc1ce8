import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The call directory")
struct NumberTests {
    private func update(_ text: String) throws -> NumberUpdate { try NumberUpdate(body: Array(text.utf8)) }

    private func service() throws -> Principal {
        var service = try principal("backend")
        service.isService = true
        return service
    }

    private func put(_ world: SwitchboardWorld, _ text: String, of owner: String? = nil) throws -> String {
        try world.reply(try service(), .numbers(.update(try owner.map { try user($0) }, try update(text)))).text
    }

    private func read(
        _ world: SwitchboardWorld,
        _ query: Switchboard.NumberQuery = .init(),
        by user: String = "10"
    ) throws
        -> String
    { try world.reply(try principal(user), .numbers(.read(query))).text }

    @Test("A user reads the names for all users and their own, and later only what has changed")
    func reading() throws {
        let world = SwitchboardWorld()
        #expect(try read(world) == "i0\tcomplete\tend\t1\n")
        #expect(try put(world, "+1\tone\n+2\ttwo\n") == #"{"changed":2,"numbers":2}"#)
        #expect(try put(world, "+2\tmine\n", of: "10") == #"{"changed":1,"numbers":1}"#)
        #expect(try read(world) == "i2\tcomplete\tend\t1\n+1\tone\n+2\tmine\n")
        #expect(try read(world, by: "11") == "i2\tcomplete\tend\t1\n+1\tone\n+2\ttwo\n")
        #expect(try put(world, "-1\n") == #"{"changed":1,"numbers":1}"#)
        let since = NumberCursor(.identities, version: 2)
        #expect(try read(world, .init(since: since)) == "i3\tchanges\tend\t1\n-1\n")
        #expect(world.switchboard.metrics.numberPages.complete == 3)
        #expect(world.switchboard.metrics.numbers == 1 && world.switchboard.metrics.numbersChanged == 4)
    }

    @Test("The pages of a list say where the next one begins")
    func pages() throws {
        let world = SwitchboardWorld()
        _ = try put(world, "+1\ta\n+2\tb\n+3\tc\n")
        #expect(try read(world, .init(limit: 2)) == "i1-2-2\tcomplete\tmore\t1\n+1\ta\n+2\tb\n")
        _ = try put(world, "+2\tB\n")
        let next = try #require(NumberCursor("i1-2-2"))
        #expect(try read(world, .init(since: next, limit: 2)) == "i1\tcomplete\tend\t2\n+3\tc\n")
        let end = try #require(NumberCursor("i1"))
        #expect(try read(world, .init(since: end)) == "i2\tchanges\tend\t1\n+2\tB\n", "it changed while it was read")
    }

    @Test("An update that changes nothing makes no commit and no version, and a repeated one neither")
    func idempotent() throws {
        let world = SwitchboardWorld()
        _ = try put(world, "+1\tone\n")
        let before = world.changes.count
        #expect(try put(world, "+1\tone\n-2\n") == #"{"changed":0,"numbers":1}"#)
        #expect(try put(world, "") == #"{"changed":0,"numbers":1}"#)
        #expect(world.changes.count == before)
        #expect(try read(world).hasPrefix("i1\t"))
    }

    @Test("An update is acknowledged only when it is durable, and the next one waits until then")
    func durable() throws {
        let world = SwitchboardWorld()
        world.holdsCommits = true
        let first = world.request(try service(), .numbers(.update(nil, try update("+1\tone\n"))))
        let second = world.request(try service(), .numbers(.update(nil, try update("+1\tone\n+2\ttwo\n"))))
        #expect(world.replies[first] == nil && world.replies[second] == nil)
        for _ in 0..<4 { world.commit() }
        #expect(world.replies[first]?.text == #"{"changed":1,"numbers":1}"#)
        #expect(world.replies[second]?.text == #"{"changed":1,"numbers":2}"#)
    }

    /// Begins an update of many lines in a world that holds its commits back.
    private func beginLongUpdate(_ world: SwitchboardWorld, lines: Int, of owner: String? = nil) throws -> RequestID {
        world.holdsCommits = true
        let text = (1...lines).map { "+\($0)\tname \($0)\n" }.joined()
        return world.request(try service(), .numbers(.update(try owner.map { try user($0) }, try update(text))))
    }

    private func sizes(_ world: SwitchboardWorld) -> [Int] {
        world.changes.compactMap { if case .numbers(let change) = $0 { change.rows.count } else { nil } }
    }

    @Test("A long update is stored in parts, so that signals wait for one part only, and acknowledged at its end")
    func parts() throws {
        let world = SwitchboardWorld()
        let long = try beginLongUpdate(world, lines: 2_400)
        let next = world.request(try service(), .numbers(.update(nil, try update("+2400\tlast\n+2401\tone more\n"))))
        let caller = try world.open("11", "a1")
        #expect(sizes(world) == [1_000])
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takeFrames(of: caller).of("ack").isEmpty)
        world.commit()
        #expect(world.takeFrames(of: caller).of("ack").count == 1)
        #expect(sizes(world) == [1_000, 1_000] && world.switchboard.metrics.numbers == 2_000)
        world.commit()
        #expect(sizes(world) == [1_000, 1_000, 400, 2] && world.replies[long] == nil)
        world.commit()
        #expect(world.replies[long]?.text == #"{"changed":2400,"numbers":2400}"#)
        #expect(world.replies[next]?.text == #"{"changed":2,"numbers":2401}"#)
        #expect(world.switchboard.metrics.numbers == 2_401 && world.switchboard.metrics.numbersChanged == 2_402)
        world.holdsCommits = false
        #expect(try read(world, .init(limit: 1)) == "i4-2-1\tcomplete\tmore\t1\n+1\tname 1\n")
        #expect(world.restarted().switchboard.metrics.numbers == 2_401)
    }

    @Test("A long update that a stall of the store interrupts is refused with 503, and can be repeated")
    func interrupted() throws {
        let world = SwitchboardWorld()
        let long = try beginLongUpdate(world, lines: 2_400, of: "10")
        world.commit()
        world.give(.stored(.stalled(StoreFailure("full"))))
        #expect(world.replies[long]?.status == 503)
        world.give(.stored(.recovered))
        world.commit()
        #expect(sizes(world) == [1_000, 1_000], "nothing is stored of an update that was refused")
        let repeated = try beginLongUpdate(world, lines: 2_400, of: "10")
        #expect(sizes(world) == [1_000, 1_000, 400])
        world.commit()
        #expect(world.replies[repeated]?.text == #"{"changed":400,"numbers":2400}"#)
        #expect(world.replies[long]?.status == 503, "one response for each request")
        #expect(try read(world, .init(limit: 2_400)).split(separator: "\n").count == 2_401)
    }

    @Test("Names for all users and for one user have limits; a list above its limit may become shorter")
    func limits() throws {
        let world = SwitchboardWorld {
            $0.directoryNumbers = 2
            $0.directoryNumbersPerUser = 1
        }
        _ = try put(world, "+1\ta\n+2\tb\n")
        let refused = try world.reply(try service(), .numbers(.update(nil, try update("+2\tB\n+3\tc\n"))))
        #expect(refused.status == 413 && refused.text.contains(#""field":"numbers""#))
        #expect(try put(world, "-1\n+3\tc\n") == #"{"changed":2,"numbers":2}"#, "one goes and one comes")
        #expect(
            try world.reply(try service(), .numbers(.update(try user("10"), try update("+1\ta\n+2\tb\n")))).status
                == 413
        )
        #expect(try put(world, "+1\ta\n", of: "10") == #"{"changed":1,"numbers":1}"#)
        #expect(try read(world, by: "11").hasSuffix("+2\tb\n+3\tc\n"), "all lines or none")
    }

    @Test("Only a service may change the directory, and only a user may read it; a push's capability may do neither")
    func rights() throws {
        let world = SwitchboardWorld()
        #expect(try world.reply(try principal("10"), .numbers(.update(nil, try update("+1\ta")))).status == 403)
        #expect(try world.reply(try service(), .numbers(.read(.init()))).status == 403)
        let scope = CallScope(
            call: try call("c-1"),
            epoch: 1,
            peer: try user("11"),
            device: try device("b1")
        )
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        let act = Principal(user: try user("10"), scope: scope)
        #expect(try world.reply(act, .numbers(.read(.init()))).status == 403)
        #expect(try world.reply(act, .numbers(.update(nil, try update("+1\ta")))).status == 403)
        #expect(try world.reply(act, .blocks(.blockNumber(try number("1")))).status == 403)
    }

    @Test("A client that has the newest page gets 304 without a query, and another user's tag does not count")
    func unchanged() throws {
        let world = SwitchboardWorld()
        _ = try put(world, "+1\tone\n")
        let tag = try #require(try world.reply(try principal("10"), .numbers(.read(.init()))).entityTag)
        #expect(tag == #"W/"i1.1.10""#)
        let queries = world.queries.count
        let again = try world.reply(try principal("10"), .numbers(.read(.init(knownTags: [#""other""#, tag]))))
        #expect(again.status == 304 && again.body.isEmpty && again.entityTag == tag && world.queries.count == queries)
        #expect(try world.reply(try principal("11"), .numbers(.read(.init(knownTags: [tag])))).status == 200)
        _ = try put(world, "+1\tuno\n")
        #expect(try world.reply(try principal("10"), .numbers(.read(.init(knownTags: [tag])))).status == 200)
    }

    @Test("A page for which many rows were read counts as several")
    func charged() throws {
        let world = SwitchboardWorld()
        let reader = try principal("10")
        world.setRowsReadForPages(200 * SwitchboardLimits.rowsPerDirectoryPage)
        for _ in 0..<5 { #expect(try world.reply(reader, .numbers(.read(.init()))).status == 200) }
        #expect(try world.reply(reader, .numbers(.read(.init()))).status == 429)
        world.setRowsReadForPages(SwitchboardLimits.rowsPerDirectoryPage - 1)
        let other = try principal("11")
        for _ in 0..<20 { #expect(try world.reply(other, .numbers(.read(.init()))).status == 200) }
    }

    @Test("A user awaits at most four pages at the same time, and 16 updates may wait")
    func awaited() throws {
        let world = SwitchboardWorld()
        world.holdsResults = true
        let reads = try (0..<5).map { _ in world.request(try principal("10"), .numbers(.read(.init()))) }
        #expect(reads.map { world.replies[$0]?.status } == [nil, nil, nil, nil, 429])
        let other = world.request(try principal("11"), .numbers(.read(.init())))
        #expect(world.replies[other] == nil)
        let updates = try (0..<17).map { _ in world.request(try service(), .numbers(.update(nil, try update("+1\ta"))))
        }
        #expect(updates.map { world.replies[$0]?.status } == Array(repeating: nil, count: 16) + [429])
        world.holdsResults = false
        for _ in 0..<40 { world.deliverResults() }
        #expect((reads.prefix(4) + updates.prefix(16)).allSatisfy { world.replies[$0]?.status == 200 })
        #expect(try world.reply(try principal("10"), .numbers(.read(.init()))).status == 200)
        #expect(world.switchboard.metrics.limited[.directoryReads] == 1)
        #expect(world.switchboard.metrics.limited[.directoryUpdates] == 1)
    }

    @Test("While the store cannot be read, pages and updates are refused with 503, and later ones are not")
    func unavailable() throws {
        let world = SwitchboardWorld()
        world.failsQueries = true
        #expect(try world.reply(try principal("10"), .numbers(.read(.init()))).status == 503)
        #expect(try world.reply(try service(), .numbers(.update(nil, try update("+1\ta")))).status == 503)
        world.failsQueries = false
        #expect(try put(world, "+1\ta") == #"{"changed":1,"numbers":1}"#)
        world.give(.stored(.stalled(StoreFailure("full"))))
        #expect(try world.reply(try service(), .numbers(.update(nil, try update("+1\ta")))).status == 503)
    }

    @Test("Old removals are forgotten regularly, but not by a server without a call directory")
    func forgetting() throws {
        let world = SwitchboardWorld()
        world.wait(1_000)
        #expect(world.kept.numbers.forgottenBefore == nil)
        _ = try put(world, "+1\ta")
        world.wait(61)
        let before = try #require(world.kept.numbers.forgottenBefore)
        let age = world.now - before
        #expect(age >= .seconds(30 * 86_400) && age <= .seconds(30 * 86_400 + 61))
    }

    @Test("The version goes on after a restart, and blocked numbers are still blocked")
    func restart() throws {
        let world = SwitchboardWorld()
        _ = try put(world, "+1\ta")
        _ = try world.reply(try principal("10"), .blocks(.blockNumber(try number("5"))))
        let again = world.restarted()
        #expect(try put(again, "+2\tb") == #"{"changed":1,"numbers":2}"#)
        #expect(try read(again).hasPrefix("i3\t"))
        #expect(try again.reply(try principal("10"), .blocks(.list)).text == #"[{"id":"number:5","number":"5"}]"#)
    }

    @Test("Changes of the directory and blocked numbers are in the audit log, without the numbers")
    func audited() throws {
        let world = SwitchboardWorld()
        _ = try put(world, "+1\ta\n+2\tb")
        _ = try put(world, "+1\ta", of: "10")
        _ = try world.reply(try principal("10"), .blocks(.blockNumber(try number("5"))))
        _ = try world.reply(try principal("10"), .blocks(.unblockNumber(try number("5"))))
        #expect(
            world.audited == [
                .directoryChanged(by: try user("backend"), of: nil, changed: 2),
                .directoryChanged(by: try user("backend"), of: try user("10"), changed: 1),
                .numberBlocked(by: try user("10")), .numberUnblocked(by: try user("10")),
            ]
        )
    }
}

@Suite("A blocked phone number")
struct NumberBlockTests {
    private static func offer(_ id: String, _ members: String) -> String {
        SwitchboardWorld.offer(id, to: "10", more: "," + members)
    }

    @Test("It is listed after the blocked users, may be blocked again, and is removed")
    func listed() throws {
        let world = SwitchboardWorld { $0.blockedNumbersPerUser = 2 }
        let asking = try principal("10")
        _ = try world.reply(asking, .blocks(.block(try user("11"))))
        for text in ["82", "9", "82"] {
            let reply = try world.reply(asking, .blocks(.blockNumber(try number(text))))
            #expect(reply.text == #"{"id":"number:\#(text)","number":"\#(text)"}"#)
        }
        #expect(try world.reply(asking, .blocks(.blockNumber(try number("7")))).status == 429)
        #expect(world.switchboard.metrics.limited[.blocks] == 1)
        #expect(
            try world.reply(asking, .blocks(.list)).text
                == #"[{"id":"11","user_id":"11"},{"id":"number:9","number":"9"},{"id":"number:82","number":"82"}]"#
        )
        #expect(try world.reply(asking, .numbers(.read(.init(.blocks)))).text == "b2\tcomplete\tend\t1\n+9\n+82\n")
        #expect(try world.reply(asking, .blocks(.unblockNumber(try number("9")))).status == 200)
        #expect(try world.reply(asking, .blocks(.unblockNumber(try number("9")))).status == 200)
        let since = NumberCursor(.blocks, version: 2)
        #expect(
            try world.reply(asking, .numbers(.read(.init(.blocks, since: since)))).text == "b3\tchanges\tend\t1\n-9\n"
        )
        #expect(try world.reply(try principal("12"), .blocks(.list)).text == "[]")
    }

    @Test(
        "A call whose offer shows the number is hidden as a blocked user's call is",
        arguments: [
            (#""handleType":"phoneNumber","handle":"+82 10-1234-5678""#, true),
            (#""handle":"821012345678","handleType":"phoneNumber""#, true),
            (#""handleType":"phoneNumber","handle":"+82 10-1234-5679""#, false),
            (#""handleType":"generic","handle":"+82 10-1234-5678""#, false),
            (#""handle":"+82 10-1234-5678""#, false), (#""handleType":"phoneNumber""#, false),
        ]
    )
    func hidden(_ members: String, _ isHidden: Bool) throws {
        let world = SwitchboardWorld()
        _ = try world.reply(try principal("10"), .blocks(.blockNumber(try number("821012345678"))))
        let callee = try world.open("10", "b1")
        let caller = try world.open("11", "a1")
        _ = world.takeFrames(of: callee)
        world.send(caller, Self.offer("c-1", members))
        #expect(world.takeFrames(of: caller).of("error").isEmpty)
        #expect(world.takeFrames(of: callee).of("offer").isEmpty == isHidden)
        #expect(world.events("blocked").count == (isHidden ? 1 : 0))
        #expect(world.switchboard.metrics.callsHidden[.block] == (isHidden ? 1 : nil))
    }

    @Test("A caller whose user id is the blocked number is hidden if the offer says that it is a phone number")
    func callerIsNumber() throws {
        let world = SwitchboardWorld()
        _ = try world.reply(try principal("10"), .blocks(.blockNumber(try number("821012345678"))))
        let callee = try world.open("10", "b1")
        let caller = try world.open("+821012345678", "a1")
        _ = world.takeFrames(of: callee)
        world.send(caller, Self.offer("c-1", #""handleType":"phoneNumber""#))
        #expect(world.takeFrames(of: callee).of("offer").isEmpty)
        world.send(caller, Self.offer("c-2", #""handleType":"generic""#))
        #expect(!world.takeFrames(of: callee).of("offer").isEmpty)
    }
}

private func number(_ text: String) throws -> PhoneNumber { try #require(PhoneNumber(digits: text.utf8)) }
