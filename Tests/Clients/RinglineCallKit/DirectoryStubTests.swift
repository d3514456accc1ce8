import CallKit
import Foundation
import Testing

/// An extension that does in each request what the test says.
private final class ScriptedProvider: CXCallDirectoryProvider, CXCallDirectoryExtensionContextDelegate {
    var script: (CXCallDirectoryExtensionContext) -> Void
    let completions = Events()
    let errors = Events()

    init(_ script: @escaping (CXCallDirectoryExtensionContext) -> Void) { self.script = script }

    override func beginRequest(with context: CXCallDirectoryExtensionContext) {
        context.delegate = self
        script(context)
        let completions = completions
        context.completeRequest { expired in completions.add(expired ? "expired" : "done") }
    }

    func requestFailed(for extensionContext: CXCallDirectoryExtensionContext, withError error: any Error) {
        errors.add("\((error as? CXErrorCodeCallDirectoryManagerError)?.code.rawValue ?? -1)")
        completions.add("failed")
    }
}

/// Texts in order.
final class Events: @unchecked Sendable {
    // @unchecked: the lock guards the value.
    private let lock = NSLock()
    private var value: [String] = []

    var all: [String] { lock.withLock { value } }

    func add(_ text: String) { lock.withLock { value.append(text) } }
}

@Suite("The stub of a Call Directory extension fails as iOS does")
struct DirectoryStubTests {
    private let system = CXCallDirectorySystem()

    /// Makes a request with these entries, and expects an error; `nil` = none.
    private func expect(
        _ code: Int?,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ script: @escaping (CXCallDirectoryExtensionContext) -> Void
    ) async {
        let found = await system.load(ScriptedProvider(script))?.rawValue
        #expect(found == code, sourceLocation: sourceLocation)
    }

    /// A first request: blocked are 1 and 2, and 5 has a label.
    private func begin() async {
        await expect(nil) { context in
            _ = context.isIncremental
            context.addBlockingEntry(withNextSequentialPhoneNumber: 1)
            context.addBlockingEntry(withNextSequentialPhoneNumber: 2)
            context.addIdentificationEntry(withNextSequentialPhoneNumber: 5, label: "A")
        }
    }

    @Test("The error codes are Apple's")
    func codes() {
        typealias Code = CXErrorCodeCallDirectoryManagerError.Code
        let codes: [Code] = [
            .unknown, .noExtensionFound, .loadingInterrupted, .entriesOutOfOrder, .duplicateEntries,
            .maximumEntriesExceeded, .extensionDisabled, .currentlyLoading, .unexpectedIncrementalRemoval,
        ]
        #expect(codes.map(\.rawValue) == Array(0...8))
    }

    @Test("Entries out of order: 3, for each kind by itself")
    func order() async {
        await begin()
        let before = system.entries
        await expect(3) { context in
            context.addBlockingEntry(withNextSequentialPhoneNumber: 7)
            context.addBlockingEntry(withNextSequentialPhoneNumber: 6)
        }
        await expect(3) { context in
            context.addIdentificationEntry(withNextSequentialPhoneNumber: 7, label: "A")
            context.addIdentificationEntry(withNextSequentialPhoneNumber: 6, label: "A")
        }
        #expect(system.entries == before, "a request that fails changes nothing")
        await expect(nil) { context in
            context.addIdentificationEntry(withNextSequentialPhoneNumber: 7, label: "A")
            context.addBlockingEntry(withNextSequentialPhoneNumber: 6)
        }
    }

    @Test("A number twice in a request, or one that iOS has in an incremental request: 4")
    func duplicates() async {
        await begin()
        await expect(4) { context in
            context.addBlockingEntry(withNextSequentialPhoneNumber: 7)
            context.addBlockingEntry(withNextSequentialPhoneNumber: 7)
        }
        await expect(4) { context in
            #expect(context.isIncremental)
            context.addIdentificationEntry(withNextSequentialPhoneNumber: 5, label: "B")
        }
        await expect(nil) { context in
            #expect(context.isIncremental)
            context.removeIdentificationEntry(withPhoneNumber: 5)
            context.removeIdentificationEntry(withPhoneNumber: 6)
            context.addIdentificationEntry(withNextSequentialPhoneNumber: 5, label: "B")
        }
        #expect(system.entries.labels == [5: "B"] && system.entries.blocked == [1, 2])
    }

    @Test("A removal in a request that is not incremental: 8")
    func removal() async {
        let removals: [(CXCallDirectoryExtensionContext) -> Void] = [
            { $0.removeAllBlockingEntries() }, { $0.removeAllIdentificationEntries() },
            { $0.removeBlockingEntry(withPhoneNumber: 1) }, { $0.removeIdentificationEntry(withPhoneNumber: 1) },
        ]
        for removal in removals {
            await expect(8) { context in
                #expect(!context.isIncremental)
                removal(context)
            }
        }
        await begin()
        // Nobody has asked whether the request is incremental.
        for removal in removals { await expect(8, removal) }
        for removal in removals {
            await expect(nil) { context in
                #expect(context.isIncremental)
                removal(context)
            }
        }
        #expect(system.entries == CXCallDirectorySystem.Entries())
    }

    @Test("A request is incremental only if that was asked before the first entry")
    func askedLate() async {
        await begin()
        await expect(nil) { context in
            context.addBlockingEntry(withNextSequentialPhoneNumber: 9)
            #expect(!context.isIncremental)
        }
        #expect(system.entries.blocked == [9] && system.entries.labels.isEmpty)
    }

    @Test("Too many entries: 5; an extension that is off: 6; two requests at a time: 7; one that ends early: 2")
    func others() async {
        system.maximumEntries = 1
        await expect(5) { context in
            context.addBlockingEntry(withNextSequentialPhoneNumber: 1)
            context.addBlockingEntry(withNextSequentialPhoneNumber: 2)
        }
        system.isEnabled = false
        await expect(6) { _ in }
        system.isEnabled = true
        let silent = SilentProvider()
        async let first = system.load(silent)
        await silent.flag.wait()
        await expect(7) { _ in }
        system.interrupt()
        #expect(await first == .loadingInterrupted)
        system.expires = true
        await expect(2) { _ in }
    }

    @Test("The system tells the delegate of an error, before or after the completion handler")
    func report() async {
        for (isLate, order) in [(false, ["failed", "done"]), (true, ["done", "failed"])] {
            system.reportsErrorsLate = isLate
            let provider = ScriptedProvider { $0.removeAllBlockingEntries() }
            #expect(await system.load(provider) == .unexpectedIncrementalRemoval)
            #expect(provider.errors.all == ["8"] && provider.completions.all == order)
        }
    }

    @Test("The manager knows no extension: 1")
    func manager() {
        let events = Events()
        CXCallDirectoryManager.sharedInstance.reloadExtension(withIdentifier: "com.example.chat.directory") { error in
            events.add("\((error as? CXErrorCodeCallDirectoryManagerError)?.code.rawValue ?? -1)")
        }
        #expect(events.all == ["1"])
    }
}

/// An extension that never completes a request.
private final class SilentProvider: CXCallDirectoryProvider {
    let flag = Flag()

    override func beginRequest(with context: CXCallDirectoryExtensionContext) { flag.set() }
}
