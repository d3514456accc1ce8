import KitFakes
import RinglineKit
import Testing

@Suite("A request for the call directory that fails")
struct DirectoryFailureTests {
    private var fixture = DirectoryFixture()

    init() { fixture.limit = 4 }

    /// Loads ten identities and a blocked number, and then changes eight of them.
    private func begin() async throws {
        await fixture.server.set(.identities, Dictionary(uniqueKeysWithValues: (1...10).map { ($0, "A\($0)") }))
        await fixture.server.set(.blocks, [7: ""])
        try await fixture.loadAll()
        await fixture.server.set(.identities, Dictionary(uniqueKeysWithValues: (5...12).map { ($0, "B\($0)") }))
    }

    private func expectFailure(_ outcome: DirectoryFixture.Outcome, _ expected: CallDirectoryError) {
        #expect(throws: expected) { try outcome.result.get() }
    }

    @Test(
        "An interrupted request keeps the cursors and the entries, and the next one goes on from them",
        arguments: [
            (.failure(.refused(status: 401)), .refused(status: 401)),
            (.failure(.refused(status: 503)), .refused(status: 503)),
            (.network, .unreachable("NetworkError()")),
            (.body(""), .malformed(.identities, page: 2, DirectoryPageError(line: 1, .lineEnd))),
            (.body("c\tchanges\tend\t3\n"), .unexpectedPage(.identities, page: 3)),
            (.body("c\tcomplete\tend\t2\n+1\tA\n"), .unexpectedPage(.identities, page: 2)),
            (
                .body("c\tchanges\tend\t2\n+13\tA\n+14\tB"),
                .malformed(.identities, page: 2, DirectoryPageError(line: 3, .lineEnd))
            ),
            (
                .body("c\tchanges\tend\t2\n+8\tA\n"),
                .malformed(.identities, page: 2, DirectoryPageError(line: 2, .order))
            ),
        ] as [(FakeDirectoryServer.Fault, CallDirectoryError)]
    )
    func interrupted(_ fault: FakeDirectoryServer.Fault, _ expected: CallDirectoryError) async throws {
        try await begin()
        let (cursors, entries) = (fixture.cursors.read(), fixture.system.entries)
        await fixture.server.plan(fault, at: 3)
        let outcome = try await fixture.load()
        expectFailure(outcome, expected)
        #expect(outcome.context.cancellation as? CallDirectoryError == expected)
        #expect(outcome.context.calls == ["-5", "-6", "-7", "-8", "+5 B5", "+6 B6", "+7 B7", "+8 B8"], "page 1 only")
        #expect(fixture.cursors.read() == cursors && cursors != nil && fixture.system.entries == entries)
        let (result, _) = try await fixture.loadAll()
        #expect(try result.get().added == 8)
    }

    @Test("Of a malformed page nothing is added")
    func malformed() async throws {
        await fixture.server.plan(.body("c\tcomplete\tend\t1\n+1\tA\n+2\tB\n+2\tC\n"), at: 2)
        let outcome = try await fixture.load()
        expectFailure(outcome, .malformed(.identities, page: 1, DirectoryPageError(line: 4, .order)))
        #expect(outcome.context.calls.isEmpty && fixture.cursors.read() == nil)
    }

    @Test("If the list begins anew between two pages, the request fails, and the next one loads everything")
    func restarted() async throws {
        try await begin()
        let entries = fixture.system.entries
        await fixture.server.plan(.restart, at: 3)
        expectFailure(try await fixture.load(), .restarted(.identities))
        #expect(fixture.system.entries == entries)
        #expect(fixture.cursors.read()?[.identities] == nil && fixture.cursors.read()?[.blocks] != nil)
        let (result, context) = try await fixture.loadAll()
        // The blocked numbers' cursor is too old by now as well.
        #expect(try result.get().completeLists == [.blocks, .identities])
        #expect(context.calls.contains("-identities"))
    }

    @Test("The same in a request for the whole list")
    func restartedComplete() async throws {
        await fixture.server.set(.identities, [1: "A", 2: "B", 3: "C", 4: "D", 5: "E"])
        await fixture.server.plan(.restart, at: 3)
        let outcome = try await fixture.load()
        expectFailure(outcome, .restarted(.identities))
        #expect(outcome.context.calls.count == 4 && fixture.system.entries == nil)
        try await fixture.loadAll()
    }

    @Test("Changes that were not asked for, and a first page with another number, are refused")
    func unexpectedFirstPage() async throws {
        await fixture.server.plan(.body("c\tchanges\tend\t1\n"), at: 1)
        expectFailure(try await fixture.load(), .unexpectedPage(.blocks, page: 1))
        await fixture.server.plan(.body("c\tcomplete\tend\t2\n"), at: 1)
        expectFailure(try await fixture.load(), .unexpectedPage(.blocks, page: 2))
    }

    @Test("A server that repeats a cursor is not asked without end")
    func stuck() async throws {
        await fixture.server.plan(.body("c\tcomplete\tmore\t1\n"), at: 1)
        await fixture.server.plan(.body("c\tcomplete\tmore\t2\n"), at: 2)
        expectFailure(try await fixture.load(), .unexpectedPage(.blocks, page: 2))
    }

    @Test("A cursor that the server refuses as malformed is dropped")
    func refusedCursor() async throws {
        try await begin()
        await fixture.server.plan(.failure(.refused(status: 400)), at: 2)
        expectFailure(try await fixture.load(), .refused(status: 400))
        #expect(fixture.cursors.read()?[.identities] == nil && fixture.cursors.read()?[.blocks] != nil)
        try await fixture.loadAll()
    }

    @Test("An expired request keeps the cursors")
    func expired() async throws {
        try await begin()
        let cursors = fixture.cursors.read()
        fixture.system.fate = .expired
        let outcome = try await fixture.load()
        expectFailure(outcome, .expired)
        #expect(outcome.context.cancellation == nil, "a request ends once")
        #expect(fixture.cursors.read() == cursors && cursors != nil)
        try await fixture.loadAll()
    }

    @Test("An extension that iOS ends in the midst of a request keeps the cursors")
    func ended() async throws {
        try await begin()
        let cursors = fixture.cursors.read()
        await fixture.server.plan(.silence, at: 3)
        let (server, loader) = (fixture.server, try fixture.loader())
        nonisolated(unsafe) let context = fixture.system.context()
        let task = Task { try await loader.load(into: context) }
        await server.silenceBegan()
        #expect(fixture.cursors.read() == cursors && cursors != nil)
        task.cancel()
        let result = await task.result
        #expect(throws: CallDirectoryError.unreachable("CancellationError()")) { try result.get() }
        #expect(fixture.cursors.read() == cursors)
        try await fixture.loadAll()
    }

    @Test(
        "If iOS refuses the entries, before or after the end of the request, the next one loads everything",
        arguments: [true, false]
    )
    func rejected(_ isBefore: Bool) async throws {
        try await begin()
        let entries = fixture.system.entries
        fixture.system.fate = isBefore ? .rejectedBefore : .rejectedAfter
        let outcome = try await fixture.load()
        if isBefore { expectFailure(outcome, .rejected) }
        #expect(fixture.cursors.read() == nil && fixture.system.entries == entries)
        let (result, context) = try await fixture.loadAll()
        #expect(try result.get().completeLists == [.blocks, .identities])
        #expect(context.calls.contains("-blocks") && context.calls.contains("-identities"))
    }

    @Test("The fake fails as iOS does")
    func fake() {
        let system = FakeCallDirectory()
        let first = system.context()
        first.removeBlockingEntry(1)
        #expect(first.code == 8)
        let second = system.context()
        second.addBlockingEntry(2)
        second.addIdentificationEntry(1, label: "A")
        #expect(second.code == nil, "each list has an order of its own")
        second.addBlockingEntry(1)
        #expect(second.code == 3)
        system.entries = FakeCallDirectory.Entries(blocked: [], labels: [5: "A"])
        let third = system.context()
        third.addIdentificationEntry(5, label: "B")
        #expect(third.code == 4)
        let fourth = system.context()
        fourth.removeIdentificationEntry(5)
        fourth.addIdentificationEntry(5, label: "B")
        fourth.removeIdentificationEntry(77)
        #expect(fourth.code == nil)
        fourth.addIdentificationEntry(5, label: "B")
        #expect(fourth.code == 4)
    }
}
