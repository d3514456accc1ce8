import CallCore
import Foundation
import KitFakes
import RinglineKit
import Testing

/// An extension of a user, its server, and what iOS has of it.
struct DirectoryFixture {
    let server = FakeDirectoryServer()
    let cursors = FakeCursors()
    let system = FakeCallDirectory()
    var user = "10"
    var lists = DirectoryList.allCases
    var limit = 10_000

    /// The result of a request, and the context that took it.
    typealias Outcome = (result: Result<CallDirectoryLoader.Summary, CallDirectoryError>, context: FakeDirectoryContext)

    func loader() throws -> CallDirectoryLoader {
        let address = try #require(URL(string: "https://calls.example.com"))
        var configuration = CallDirectoryLoader.Configuration(server: address, user: try #require(UserID(user)))
        configuration.lists = lists
        configuration.pageLimit = limit
        return CallDirectoryLoader(configuration, source: server, cursors: cursors)
    }

    /// Makes a request as iOS does, with a new loader as in a new process.
    func load() async throws -> Outcome {
        let loader = try loader()
        system.requestFailed = { _ in loader.requestFailed() }
        let context = system.context()
        let isRejectedLater = system.fate == .rejectedAfter
        let result: Result<CallDirectoryLoader.Summary, CallDirectoryError>
        do { result = .success(try await loader.load(into: context)) } catch { result = .failure(error) }
        if isRejectedLater { loader.requestFailed() }
        return (result, context)
    }

    /// Makes a request that succeeds, and expects that iOS has what the server has.
    @discardableResult
    func loadAll() async throws -> Outcome {
        let outcome = try await load()
        #expect(throws: Never.self) { try outcome.result.get() }
        #expect(outcome.context.code == nil && outcome.context.cancellation == nil)
        try await expectSame()
        return outcome
    }

    func expectSame() async throws {
        let entries = try #require(system.entries)
        #expect(await entries.labels == (lists.contains(.identities) ? server.entries(.identities) : [:]))
        #expect(await entries.blocked == (lists.contains(.blocks) ? Set(server.entries(.blocks).keys) : []))
    }
}

@Suite("Loading the call directory")
struct DirectoryLoaderTests {
    private var fixture = DirectoryFixture()

    private func entries(_ numbers: some Sequence<Int64>, _ label: String = "L") -> [Int64: String?] {
        Dictionary(uniqueKeysWithValues: numbers.map { ($0, "\(label)\($0)") })
    }

    @Test(
        "A whole list of 25,000 numbers comes in three pages; a request that is not incremental has no removals"
    )
    func complete() async throws {
        await fixture.server.set(.identities, entries((1...25_000).map { $0 * 7 }))
        await fixture.server.set(.blocks, entries([5, 3, 9]))
        let (result, context) = try await fixture.loadAll()
        let summary = try result.get()
        #expect(summary.added == 25_003 && summary.removed == 0 && summary.completeLists == [.blocks, .identities])
        #expect(context.calls.count == 25_003 && !context.calls.contains { $0.hasPrefix("-") })
        #expect(
            await fixture.server.requests == [
                "blocks - 10000", "identities - 10000", "identities 2.-.70000.1 10000",
                "identities 2.-.140000.2 10000",
            ]
        )
        #expect(fixture.cursors.read()?[.identities]?.text == "v2")
    }

    @Test("Increments: a removal, a changed label, a new number; each entry is removed before it is added")
    func increments() async throws {
        await fixture.server.set(.identities, entries(1...10))
        await fixture.server.set(.blocks, entries([3, 5]))
        try await fixture.loadAll()
        await fixture.server.set(.identities, [4: nil, 6: "Taro", 11: "Jiro", 99: nil])
        await fixture.server.set(.blocks, [3: nil, 4: ""])
        let (result, context) = try await fixture.loadAll()
        #expect(
            context.calls == ["-3", "-4", "+4", "-4", "-6", "-11", "-99", "+6 Taro", "+11 Jiro"]
        )
        let summary = try result.get()
        #expect(summary.added == 3 && summary.removed == 3 && summary.completeLists.isEmpty)
        let (nothing, silent) = try await fixture.loadAll()
        #expect(silent.calls.isEmpty)
        #expect(try nothing.get() == CallDirectoryLoader.Summary())
    }

    @Test("Changes on several pages stay in order over the pages")
    func incrementsInPages() async throws {
        var fixture = fixture
        fixture.limit = 3
        await fixture.server.set(.identities, entries(1...20))
        try await fixture.loadAll()
        await fixture.server.set(.identities, entries(15...31, "New "))
        await fixture.server.set(.identities, [2: nil, 17: nil])
        let (result, _) = try await fixture.loadAll()
        #expect(try result.get().added == 16)
    }

    @Test("A cursor that is too old, or from the future, leads to the whole list, after all entries were removed")
    func staleCursor() async throws {
        await fixture.server.set(.identities, entries(1...10))
        await fixture.server.set(.blocks, entries([7]))
        try await fixture.loadAll()
        await fixture.server.set(.identities, [3: nil, 4: "Taro"])
        await fixture.server.forgetRemovals()
        let (result, context) = try await fixture.loadAll()
        #expect(context.calls.prefix(3) == ["-blocks", "+7", "-identities"])
        #expect(!context.calls.dropFirst(3).contains { $0.hasPrefix("-") })
        #expect(try result.get().completeLists == [.blocks, .identities])
    }

    @Test("An incremental request without cursors removes all entries and adds the whole list")
    func lostCursors() async throws {
        await fixture.server.set(.identities, entries(1...10))
        try await fixture.loadAll()
        fixture.cursors.write(nil)
        let (_, context) = try await fixture.loadAll()
        #expect(context.calls.prefix(3) == ["-blocks", "-identities", "+1 L1"])
    }

    @Test("A complete request loads the whole list although there are cursors: iOS has forgotten the entries")
    func forgottenEntries() async throws {
        await fixture.server.set(.identities, entries(1...10))
        try await fixture.loadAll()
        fixture.system.entries = nil
        let (_, context) = try await fixture.loadAll()
        #expect(context.calls.count == 10)
    }

    @Test("The cursors of another user or server count as none")
    func otherUser() async throws {
        await fixture.server.set(.identities, entries(1...10))
        try await fixture.loadAll()
        var other = fixture
        other.user = "11"
        let (_, context) = try await other.loadAll()
        #expect(context.calls.contains("-identities") && context.calls.count == 12)
        #expect(other.cursors.read()?.owner == "11 https://calls.example.com")
    }

    @Test("A list that is no longer wanted is removed from iOS, once")
    func fewerLists() async throws {
        var fixture = fixture
        await fixture.server.set(.identities, entries(1...3))
        await fixture.server.set(.blocks, entries([7]))
        try await fixture.loadAll()
        fixture.lists = [.identities]
        #expect(try await fixture.loadAll().context.calls == ["-blocks"])
        #expect(try await fixture.loadAll().context.calls.isEmpty)
        fixture.lists = [.blocks]
        #expect(try await fixture.loadAll().context.calls == ["-blocks", "+7", "-identities"])
    }

    @Test("Without a user everything is removed, in both kinds of request", arguments: [true, false])
    func nobody(_ isIncremental: Bool) async throws {
        await fixture.server.set(.identities, entries(1...3))
        try await fixture.loadAll()
        if !isIncremental { fixture.system.entries = nil }
        let context = fixture.system.context()
        #expect(await CallDirectoryLoader.removeEverything(from: context, cursors: fixture.cursors))
        #expect(context.code == nil && fixture.cursors.read() == nil)
        #expect(fixture.system.entries == FakeCallDirectory.Entries())
        try await fixture.loadAll()
    }

    @Test("What changes between two pages comes with the next request at the latest")
    func changesMeanwhile() async throws {
        var fixture = fixture
        fixture.limit = 4
        await fixture.server.set(.identities, entries(1...10))
        await fixture.server.plan(.change(.identities, 2, "Late"), at: 3)
        await fixture.server.plan(.change(.identities, 9, nil), at: 3)
        let (result, _) = try await fixture.load()
        #expect(throws: Never.self) { try result.get() }
        try await fixture.loadAll()
    }

    @Test("Cursors are kept in the defaults of the app group, and removed from them")
    func appGroup() throws {
        let group = "ringline-test-\(UUID().uuidString)"
        let store = AppGroupCursors(group: group)
        #expect(store.read() == nil)
        var cursors = DirectoryCursors(server: try #require(URL(string: "https://a")), user: try #require(UserID("10")))
        cursors[.blocks] = DirectoryCursor("v1")
        store.write(cursors)
        #expect(AppGroupCursors(group: group).read() == cursors && cursors[.identities] == nil)
        UserDefaults(suiteName: group)?.set(Data("{}".utf8), forKey: "ringline.directory")
        #expect(store.read() == nil, "another form")
        store.write(cursors)
        store.write(nil)
        #expect(store.read() == nil)
        UserDefaults.standard.removePersistentDomain(forName: group)
    }
}
