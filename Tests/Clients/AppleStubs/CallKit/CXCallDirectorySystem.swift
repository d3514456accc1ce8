import Foundation

/// The system behind the stubs of a Call Directory extension, which tests play.
///
/// Apple's CallKit has no such type. It keeps the extension's entries over its requests, and takes those of a request
/// only as a whole.
public final class CXCallDirectorySystem: @unchecked Sendable {
    // @unchecked: the lock guards what a request changes; tests set the rest between two requests.

    /// The entries of an extension.
    public struct Entries: Equatable, Sendable {
        /// The blocked numbers.
        public var blocked: Set<CXCallDirectoryPhoneNumber> = []
        /// The labels by number.
        public var labels: [CXCallDirectoryPhoneNumber: String] = [:]
        /// Creates an empty set of entries.
        public init() {}
    }

    /// Whether the user allows the extension.
    public var isEnabled = true
    /// The largest number of entries of each kind.
    public var maximumEntries = 2_000_000
    /// Whether the delegate learns of an error after the completion handler was called, or before.
    public var reportsErrorsLate = false
    /// Whether the next request expires when it is completed.
    public var expires = false
    /// Whether the completion handler of a request that was taken is called again, as if its work had been cut short.
    public var completesTwice = false
    /// The error with which the last request was cancelled.
    public private(set) var cancellation: (any Error)?

    private let lock = NSLock()
    private var kept: Entries?
    private var waiting: CheckedContinuation<CXErrorCodeCallDirectoryManagerError.Code?, Never>?

    /// Creates a system that has no entries.
    public init() {}

    /// The entries that the system has.
    public var entries: Entries { lock.withLock { kept ?? Entries() } }

    /// Forgets all entries, as when the user switches the extension off.
    public func forgetEntries() { lock.withLock { kept = nil } }

    /// Makes a request of an extension, and waits for its end.
    ///
    /// - Parameter provider: the extension.
    /// - Returns: why the entries were not taken; `nil` = they were.
    public func load(_ provider: CXCallDirectoryProvider) async -> CXErrorCodeCallDirectoryManagerError.Code? {
        guard isEnabled else { return .extensionDisabled }
        return await withCheckedContinuation { continuation in
            let isFree = lock.withLock {
                guard waiting == nil else { return false }
                waiting = continuation
                cancellation = nil
                return true
            }
            guard isFree else { return continuation.resume(returning: .currentlyLoading) }
            let hasEntries = lock.withLock { kept != nil }
            provider.beginRequest(with: CXCallDirectoryExtensionContext(self, hasEntries: hasEntries))
        }
    }

    /// Ends the extension in the midst of a request, without a word to it.
    public func interrupt() { ended(.loadingInterrupted) }

    func completed(_ entries: Entries, _ completion: (@Sendable (Bool) -> Void)?) {
        let expires = lock.withLock {
            if !self.expires { kept = entries }
            defer { self.expires = false }
            return self.expires
        }
        completion?(expires)
        if completesTwice { completion?(true) }
        ended(expires ? .loadingInterrupted : nil)
    }

    func cancelled(_ error: any Error) {
        lock.withLock { cancellation = error }
        ended(.unknown)
    }

    func ended(_ code: CXErrorCodeCallDirectoryManagerError.Code?) {
        let continuation = lock.withLock {
            defer { waiting = nil }
            return waiting
        }
        continuation?.resume(returning: code)
    }
}
