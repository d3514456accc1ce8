#if canImport(CallKit) && !os(macOS)
public import CallKit
import Foundation
public import RinglineKit

/// Apple's context takes the entries of a `CallDirectoryLoader`; what is missing here, Apple's class has under the same
/// names.
extension CXCallDirectoryExtensionContext: CallDirectoryContext {
    /// Blocks a number.
    public func addBlockingEntry(_ number: Int64) { addBlockingEntry(withNextSequentialPhoneNumber: number) }

    /// Gives a number a label.
    public func addIdentificationEntry(_ number: Int64, label: String) {
        addIdentificationEntry(withNextSequentialPhoneNumber: number, label: label)
    }

    /// Blocks a number no longer.
    public func removeBlockingEntry(_ number: Int64) { removeBlockingEntry(withPhoneNumber: number) }

    /// Takes the label of a number away.
    public func removeIdentificationEntry(_ number: Int64) { removeIdentificationEntry(withPhoneNumber: number) }

    /// Ends the request, and waits for iOS; returns whether iOS has taken it.
    public func complete() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = FirstAnswer(continuation)
            completeRequest { expired in answer.give(!expired) }
        }
    }

    /// Gives the request up.
    public func cancel(_ error: any Error) { cancelRequest(withError: error) }
}

extension CallDirectoryLoader {
    /// Begins to load the lists into iOS, and returns at once.
    ///
    /// Call it as the last thing in `beginRequest(with:)` of the extension. iOS learns from the context when it is
    /// done.
    ///
    /// - Parameter context: the context of the request.
    public func start(_ context: CXCallDirectoryExtensionContext) {
        // Nothing else uses the context from now on: iOS hands it over for this request only, and waits for its end.
        nonisolated(unsafe) let context = context
        // The context has told iOS of an error.
        Task { try? await self.load(into: context) }
    }

    /// Begins to remove all entries from iOS, and returns at once, because nobody is logged in.
    ///
    /// - Parameters:
    ///   - context: the context of the request.
    ///   - cursors: the cursors, which are removed.
    public static func startRemovingEverything(
        from context: CXCallDirectoryExtensionContext,
        cursors: any DirectoryCursorStore
    ) {
        // As in `start`.
        nonisolated(unsafe) let context = context
        Task { await removeEverything(from: context, cursors: cursors) }
    }
}

extension CXErrorCodeCallDirectoryManagerError.Code {
    /// Whether iOS and the cursors may disagree after this error, so that the app removes the cursors, and the
    /// extension's next request loads everything.
    ///
    /// It is `false` for errors of requests that changed nothing, such as one without a network.
    public var needsCompleteList: Bool {
        switch self {
        case .entriesOutOfOrder, .duplicateEntries, .maximumEntriesExceeded, .unexpectedIncrementalRemoval: true
        default: false
        }
    }
}

/// The first answer of iOS to the end of a request.
///
/// iOS may call the completion handler a second time, if it ends the extension while the first call is at work.
private final class FirstAnswer: @unchecked Sendable {
    // @unchecked: the lock guards the continuation.
    private let lock = NSLock()
    private var continuation: CheckedContinuation<Bool, Never>?

    init(_ continuation: CheckedContinuation<Bool, Never>) { self.continuation = continuation }

    func give(_ isTaken: Bool) {
        let continuation = lock.withLock {
            defer { self.continuation = nil }
            return self.continuation
        }
        continuation?.resume(returning: isTaken)
    }
}
#endif
