import CallCore
import CallKit
import Foundation
import KitFakes
import RinglineCallKit
import RinglineKit
import Testing

/// The extension of the page "A call directory" of RinglineKit, with ports that tests play.
private final class DirectoryProvider: CXCallDirectoryProvider, CXCallDirectoryExtensionContextDelegate {
    let loader: CallDirectoryLoader?
    let cursors: any DirectoryCursorStore

    init(_ loader: CallDirectoryLoader?, _ cursors: any DirectoryCursorStore) {
        self.loader = loader
        self.cursors = cursors
    }

    override func beginRequest(with context: CXCallDirectoryExtensionContext) {
        context.delegate = self
        if let loader {
            loader.start(context)
        } else {
            CallDirectoryLoader.startRemovingEverything(from: context, cursors: cursors)
        }
    }

    func requestFailed(for extensionContext: CXCallDirectoryExtensionContext, withError error: any Error) {
        loader?.requestFailed()
    }
}

@Suite("The call directory in an extension of iOS")
struct DirectoryTests {
    private let server = FakeDirectoryServer()
    private let cursors = FakeCursors()
    private let system = CXCallDirectorySystem()
    private let pageLimit = 100

    /// Makes a request as iOS does, with a new extension as in a new process.
    private func load(user: String? = "10") async throws -> CXErrorCodeCallDirectoryManagerError.Code? {
        var loader: CallDirectoryLoader?
        if let user {
            let address = try #require(URL(string: "https://calls.example.com"))
            var configuration = CallDirectoryLoader.Configuration(server: address, user: try #require(UserID(user)))
            configuration.pageLimit = pageLimit
            loader = CallDirectoryLoader(configuration, source: server, cursors: cursors)
        }
        return await system.load(DirectoryProvider(loader, cursors))
    }

    private func expectSame() async {
        #expect(await system.entries.labels == server.entries(.identities))
        #expect(await system.entries.blocked == Set(server.entries(.blocks).keys))
    }

    /// Waits until the loader has written the cursors, which it does after iOS has called the completion handler.
    private func expectCursors(_ exist: Bool) async throws {
        for _ in 0..<1_000 where (cursors.read() != nil) != exist { try await Task.sleep(nanoseconds: 1_000_000) }
        #expect((cursors.read() != nil) == exist)
    }

    private func begin() async throws {
        await server.set(.identities, Dictionary(uniqueKeysWithValues: (1...250).map { ($0, "A\($0)") }))
        await server.set(.blocks, [7: "", 8: ""])
        #expect(try await load() == nil)
        try await expectCursors(true)
        await expectSame()
    }

    @Test("250 numbers on three pages, then a removal, a changed label and a new number")
    func increments() async throws {
        try await begin()
        await server.set(.identities, [4: nil, 6: "Taro", 300: "Jiro"])
        await server.set(.blocks, [7: nil, 9: ""])
        let first = await server.requests.count
        #expect(try await load() == nil)
        await expectSame()
        #expect(system.entries.labels[6] == "Taro" && system.entries.labels.count == 250)
        #expect(await server.requests.dropFirst(first) == ["blocks v2 100", "identities v2 100"])
    }

    @Test("After the user has switched the extension off and on, everything is loaded, and nothing removed")
    func switchedOff() async throws {
        try await begin()
        system.forgetEntries()
        #expect(try await load() == nil)
        await expectSame()
    }

    @Test("The whole list in place of changes")
    func staleCursor() async throws {
        try await begin()
        await server.set(.identities, [4: nil, 6: "Taro"])
        await server.forgetRemovals()
        #expect(try await load() == nil)
        await expectSame()
    }

    @Test("If the list begins anew between two pages, iOS keeps its entries, and the next request loads everything")
    func restarted() async throws {
        try await begin()
        let entries = system.entries
        await server.set(.identities, Dictionary(uniqueKeysWithValues: (1...250).map { ($0, "B\($0)") }))
        await server.plan(.restart, at: 3)
        #expect(try await load() == .unknown)
        #expect(system.cancellation as? CallDirectoryError == .restarted(.identities) && system.entries == entries)
        #expect(try await load() == nil)
        await expectSame()
    }

    @Test("An expired or interrupted request keeps the cursors")
    func interrupted() async throws {
        try await begin()
        let kept = cursors.read()
        await server.set(.identities, [4: nil, 6: "Taro"])
        system.expires = true
        #expect(try await load() == .loadingInterrupted)
        #expect(cursors.read() == kept)
        await server.plan(.silence, at: 2)
        async let code = load()
        await server.silenceBegan()
        system.interrupt()
        #expect(try await code == .loadingInterrupted && cursors.read() == kept)
        #expect(try await load() == nil)
        await expectSame()
    }

    @Test(
        "After an error of iOS, told before or after the end of the request, everything is loaded",
        arguments: [true, false]
    )
    func rejected(_ isLate: Bool) async throws {
        try await begin()
        system.reportsErrorsLate = isLate
        system.maximumEntries = 250
        await server.set(.identities, [300: "One too many"])
        let entries = system.entries
        #expect(try await load() == .maximumEntriesExceeded)
        try await expectCursors(false)
        #expect(system.entries == entries)
        await server.set(.identities, [300: nil])
        let first = await server.requests.count
        #expect(try await load() == nil)
        await expectSame()
        #expect(await server.requests.dropFirst(first).first == "blocks - 100")
    }

    @Test("A completion handler that is called twice does no harm")
    func completedTwice() async throws {
        system.completesTwice = true
        try await begin()
    }

    @Test("Another user gets the whole list of their own, and without a user iOS has nothing")
    func users() async throws {
        try await begin()
        #expect(try await load(user: "11") == nil)
        await expectSame()
        #expect(try await load(user: nil) == nil)
        #expect(system.entries == CXCallDirectorySystem.Entries() && cursors.read() == nil)
        #expect(try await load() == nil)
        await expectSame()
    }

    @Test("The errors after which the app removes the cursors")
    func needsCompleteList() {
        let codes = (0...8).compactMap { CXErrorCodeCallDirectoryManagerError.Code(rawValue: $0) }
        #expect(codes.filter(\.needsCompleteList).map(\.rawValue) == [3, 4, 5, 8])
    }
}
