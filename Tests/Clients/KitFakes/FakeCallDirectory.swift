import RinglineKit

/// What iOS has of an extension's entries over its requests, and a context for each request that fails as iOS does.
package final class FakeCallDirectory {
    /// The entries of an extension.
    package struct Entries: Equatable {
        package var blocked: Set<Int64> = []
        package var labels: [Int64: String] = [:]

        package init(blocked: Set<Int64> = [], labels: [Int64: String] = [:]) {
            self.blocked = blocked
            self.labels = labels
        }
    }

    /// The entries; `nil` = iOS has none, so that a request is not incremental.
    package var entries: Entries?
    /// What happens when the next request is completed.
    package var fate = Fate.taken
    /// Called with the code of an error, as the delegate of Apple's context.
    package var requestFailed: (Int) -> Void = { _ in }

    package enum Fate { case taken, expired, rejectedBefore, rejectedAfter }

    package init() {}

    /// Makes a context for a request.
    package func context() -> FakeDirectoryContext { FakeDirectoryContext(self) }
}

/// A context that takes the entries of one request.
package final class FakeDirectoryContext: CallDirectoryContext {
    private let system: FakeCallDirectory
    private var entries: FakeCallDirectory.Entries
    private var lastBlocked: Int64 = 0
    private var lastIdentified: Int64 = 0
    package let isIncremental: Bool
    /// The code of the error of iOS, by Apple's `CXErrorCodeCallDirectoryManagerError`.
    package private(set) var code: Int?
    /// The error with which the request was given up.
    package private(set) var cancellation: (any Error)?
    /// The calls, in short.
    package private(set) var calls: [String] = []

    init(_ system: FakeCallDirectory) {
        self.system = system
        isIncremental = system.entries != nil
        entries = system.entries ?? FakeCallDirectory.Entries()
    }

    package func addBlockingEntry(_ number: Int64) {
        calls.append("+\(number)")
        check(number, &lastBlocked, isNew: entries.blocked.insert(number).inserted)
    }

    package func addIdentificationEntry(_ number: Int64, label: String) {
        calls.append("+\(number) \(label)")
        check(number, &lastIdentified, isNew: entries.labels.updateValue(label, forKey: number) == nil)
    }

    package func removeBlockingEntry(_ number: Int64) {
        calls.append("-\(number)")
        if mayRemove() { entries.blocked.remove(number) }
    }

    package func removeIdentificationEntry(_ number: Int64) {
        calls.append("-\(number)")
        if mayRemove() { entries.labels[number] = nil }
    }

    package func removeAllBlockingEntries() {
        calls.append("-blocks")
        if mayRemove() { entries.blocked = [] }
    }

    package func removeAllIdentificationEntries() {
        calls.append("-identities")
        if mayRemove() { entries.labels = [:] }
    }

    package func complete() async -> Bool {
        let fate = system.fate
        system.fate = .taken
        let rejected = code ?? (fate == .rejectedBefore ? 5 : nil)
        if let rejected {
            system.requestFailed(rejected)
            return true
        }
        if fate == .expired { return false }
        if fate == .taken { system.entries = entries }
        return true
    }

    package func cancel(_ error: any Error) { cancellation = error }

    private func check(_ number: Int64, _ last: inout Int64, isNew: Bool) {
        if number < last { fail(3) } else if !isNew || number == last { fail(4) }
        last = number
    }

    private func mayRemove() -> Bool {
        if !isIncremental { fail(8) }
        return isIncremental
    }

    private func fail(_ error: Int) { code = code ?? error }
}
