import CallCore
import Foundation
import KitFakes
import RinglineKit
import Synchronization
import Testing

@Suite("The call directory in the long run")
struct DirectoryWorldTests {
    @Test("After random changes and faults iOS has what the server has", arguments: 1...40 as ClosedRange<UInt64>)
    func randomWorld(_ seed: UInt64) async throws {
        var random = Random(state: seed)
        var fixture = DirectoryFixture()
        fixture.limit = Int.random(in: 1...9, using: &random)
        for round in 0..<30 {
            for list in DirectoryList.allCases {
                var changes: [Int64: String?] = [:]
                for _ in 0..<Int.random(in: 0...12, using: &random) {
                    let label: String? = Bool.random(using: &random) ? "L\(round)" : nil
                    changes.updateValue(label, forKey: Int64.random(in: 1...40, using: &random))
                }
                await fixture.server.set(list, changes)
            }
            let request = Int.random(in: 1...8, using: &random)
            switch Int.random(in: 0..<12, using: &random) {
            case 0: await fixture.server.plan(.restart, at: request)
            case 1: await fixture.server.plan(.network, at: request)
            case 2: await fixture.server.plan(.failure(.refused(status: 400)), at: request)
            case 3: await fixture.server.plan(.body("c\tcomplete\tend\t1\n+3\tx\n+2\tx\n"), at: request)
            case 4: await fixture.server.plan(.change(.identities, 20, "M\(round)"), at: request)
            case 5: fixture.system.fate = .expired
            case 6: fixture.system.fate = .rejectedBefore
            case 7: fixture.system.fate = .rejectedAfter
            case 8: fixture.system.entries = nil
            case 9: await fixture.server.forgetRemovals()
            default: break
            }
            let before = fixture.system.entries
            let isTaken = fixture.system.fate == .taken
            let (result, context) = try await fixture.load()
            #expect(context.code == nil, "seed \(seed): iOS refuses nothing")
            let isLoaded = if case .success = result, isTaken { true } else { false }
            if !isLoaded { #expect(fixture.system.entries == before) }
            fixture.system.fate = .taken
        }
        // The faults that are still planned have no more than a few requests to go.
        for _ in 0..<12 { _ = try await fixture.load() }
        try await fixture.loadAll()
    }

    @Test("A million numbers need the memory of one page")
    func aMillion() async throws {
        let list = DirectoryList.identities
        let source = GeneratedDirectory(count: 1_000_000, list)
        let address = try #require(URL(string: "https://calls.example.com"))
        var configuration = CallDirectoryLoader.Configuration(server: address, user: try #require(UserID("10")))
        configuration.lists = [list]
        let context = CountingContext()
        let loader = CallDirectoryLoader(configuration, source: source, cursors: FakeCursors())
        let summary = try await loader.load(into: context)
        #expect(summary.added == 1_000_000 && context.count == 1_000_000 && context.isAscending)
        #expect(source.pages == 100)
        // Not even two pages: the loader drops a page before it asks for the next one.
        #expect(source.peak == source.largest && source.peak < 400_000)
        #expect(source.held == 0)
    }
}

/// Makes the pages of a long list as they are asked for, and counts the bytes of those that somebody holds.
private final class GeneratedDirectory: DirectorySource {
    private struct Count {
        var pages = 0
        var held = 0
        var peak = 0
        var largest = 0
    }

    private let length: Int
    private let list: DirectoryList
    private let count = Mutex(Count())

    init(count: Int, _ list: DirectoryList) {
        length = count
        self.list = list
    }

    var pages: Int { count.withLock { $0.pages } }
    /// The bytes that are held now, at most at a time, and by the largest page.
    var held: Int { count.withLock { $0.held } }
    var peak: Int { count.withLock { $0.peak } }
    var largest: Int { count.withLock { $0.largest } }

    func page(of list: DirectoryList, since cursor: DirectoryCursor?, limit: Int) async throws -> Data {
        let page = count.withLock { $0.pages }
        let range = page * limit..<min(length, (page + 1) * limit)
        let end = range.upperBound == length ? "end" : "more"
        let label = list == .identities ? "\tSales of Example" : ""
        var text = "c\(page)\tcomplete\t\(end)\t\(page + 1)\n"
        for number in range { text += "+\(821_000_000_000 + number)\(label)\n" }
        let size = text.utf8.count
        count.withLock {
            $0.pages += 1
            $0.held += size
            $0.peak = max($0.peak, $0.held)
            $0.largest = max($0.largest, size)
        }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1)
        text.withUTF8 { UnsafeMutableRawBufferPointer(start: memory, count: size).copyBytes(from: $0) }
        let release: @Sendable (UnsafeMutableRawPointer, Int) -> Void = { [self] pointer, size in
            pointer.deallocate()
            count.withLock { $0.held -= size }
        }
        return Data(bytesNoCopy: memory, count: size, deallocator: .custom(release))
    }
}

/// A context that keeps nothing but a count.
private final class CountingContext: CallDirectoryContext {
    let isIncremental = false
    private(set) var count = 0
    private(set) var isAscending = true
    private var last: Int64 = 0

    func addBlockingEntry(_ number: Int64) {
        count += 1
        if number <= last { isAscending = false }
        last = number
    }

    func addIdentificationEntry(_ number: Int64, label: String) { addBlockingEntry(number) }
    func removeBlockingEntry(_ number: Int64) {}
    func removeIdentificationEntry(_ number: Int64) {}
    func removeAllBlockingEntries() {}
    func removeAllIdentificationEntries() {}
    func complete() async -> Bool { true }
    func cancel(_ error: any Error) {}
}

/// SplitMix64.
private struct Random: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
