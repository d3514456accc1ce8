public import Foundation

// The part of Apple's CallKit for Call Directory extensions, for compiling and testing where there is no Apple SDK.
// Declarations as in https://developer.apple.com/documentation/callkit/cxcalldirectoryextensioncontext. The page "What
// the stubs prove" of RinglineCallKit says which behaviour is an assumption.

/// A number with its country code first.
public typealias CXCallDirectoryPhoneNumber = Int64

/// Foundation's context of an extension's request, which Linux lacks.
open class NSExtensionContext: NSObject {
    /// Gives the request up.
    open func cancelRequest(withError error: any Error) {}
}

/// Why the system does not take the entries of an extension.
public struct CXErrorCodeCallDirectoryManagerError: Error, Equatable, Sendable {
    /// The codes.
    public enum Code: Int, Sendable {
        /// As the names say.
        case unknown = 0, noExtensionFound, loadingInterrupted, entriesOutOfOrder, duplicateEntries,
            maximumEntriesExceeded, extensionDisabled, currentlyLoading, unexpectedIncrementalRemoval
    }

    /// The code.
    public let code: Code
    /// Creates an error.
    public init(_ code: Code) { self.code = code }
}

/// Learns of the errors of a request.
public protocol CXCallDirectoryExtensionContextDelegate: NSObjectProtocol {
    /// The system does not take the entries of the request.
    func requestFailed(for extensionContext: CXCallDirectoryExtensionContext, withError error: any Error)
}

/// The principal class of an extension.
open class CXCallDirectoryProvider: NSObject {
    /// The system asks for entries.
    open func beginRequest(with context: CXCallDirectoryExtensionContext) {}
}

/// Takes the entries of one request; the stub hands them to its ``CXCallDirectorySystem``.
open class CXCallDirectoryExtensionContext: NSExtensionContext {
    /// Learns of errors.
    public weak var delegate: (any CXCallDirectoryExtensionContextDelegate)?

    private let system: CXCallDirectorySystem
    private let hasEntries: Bool
    private var isInIncrementalMode = false
    private var hasBegun = false
    private var isOver = false
    private var entries = CXCallDirectorySystem.Entries()
    private var lastBlocked: CXCallDirectoryPhoneNumber?
    private var lastIdentified: CXCallDirectoryPhoneNumber?
    private var failure: CXErrorCodeCallDirectoryManagerError.Code?

    init(_ system: CXCallDirectorySystem, hasEntries: Bool) {
        self.system = system
        self.hasEntries = hasEntries
    }

    /// Whether the request takes changes of the entries that the system has.
    ///
    /// Without this question before the first entry, a request is complete.
    open var isIncremental: Bool {
        if hasEntries, !hasBegun, !isInIncrementalMode {
            isInIncrementalMode = true
            entries = system.entries
        }
        return isInIncrementalMode
    }

    /// Blocks a number.
    open func addBlockingEntry(withNextSequentialPhoneNumber phoneNumber: CXCallDirectoryPhoneNumber) {
        guard begin(), isNext(phoneNumber, after: lastBlocked) else { return }
        lastBlocked = phoneNumber
        if !entries.blocked.insert(phoneNumber).inserted { fail(.duplicateEntries) }
        checkCount(entries.blocked.count)
    }

    /// Gives a number a label.
    open func addIdentificationEntry(
        withNextSequentialPhoneNumber phoneNumber: CXCallDirectoryPhoneNumber,
        label: String
    ) {
        guard begin(), isNext(phoneNumber, after: lastIdentified) else { return }
        lastIdentified = phoneNumber
        if entries.labels.updateValue(label, forKey: phoneNumber) != nil { fail(.duplicateEntries) }
        checkCount(entries.labels.count)
    }

    /// Blocks a number no longer.
    open func removeBlockingEntry(withPhoneNumber phoneNumber: CXCallDirectoryPhoneNumber) {
        if mayRemove() { entries.blocked.remove(phoneNumber) }
    }

    /// Takes the label of a number away.
    open func removeIdentificationEntry(withPhoneNumber phoneNumber: CXCallDirectoryPhoneNumber) {
        if mayRemove() { entries.labels[phoneNumber] = nil }
    }

    /// Blocks no number any longer.
    open func removeAllBlockingEntries() {
        if mayRemove() { entries.blocked = [] }
    }

    /// Takes all labels away.
    open func removeAllIdentificationEntries() {
        if mayRemove() { entries.labels = [:] }
    }

    /// Ends the request.
    open func completeRequest(completionHandler completion: (@Sendable (Bool) -> Void)? = nil) {
        guard !isOver else { return }
        isOver = true
        guard let failure else { return system.completed(entries, completion) }
        let error = CXErrorCodeCallDirectoryManagerError(failure)
        if system.reportsErrorsLate { completion?(false) }
        delegate?.requestFailed(for: self, withError: error)
        if !system.reportsErrorsLate { completion?(false) }
        system.ended(failure)
    }

    /// Gives the request up.
    override open func cancelRequest(withError error: any Error) {
        guard !isOver else { return }
        isOver = true
        system.cancelled(error)
    }

    private func begin() -> Bool {
        hasBegun = true
        return failure == nil && !isOver
    }

    private func isNext(_ number: CXCallDirectoryPhoneNumber, after last: CXCallDirectoryPhoneNumber?) -> Bool {
        guard let last, number <= last else { return true }
        fail(number == last ? .duplicateEntries : .entriesOutOfOrder)
        return false
    }

    private func mayRemove() -> Bool {
        guard begin() else { return false }
        if !isInIncrementalMode { fail(.unexpectedIncrementalRemoval) }
        return isInIncrementalMode
    }

    private func checkCount(_ count: Int) {
        if count > system.maximumEntries { fail(.maximumEntriesExceeded) }
    }

    /// The first error counts, and what follows it is ignored.
    private func fail(_ code: CXErrorCodeCallDirectoryManagerError.Code) { failure = failure ?? code }
}

/// Has the system ask an extension for entries; the stub knows no extension.
open class CXCallDirectoryManager: NSObject {
    /// Whether the user has allowed an extension, in the system's settings.
    public enum EnabledStatus: Int, Sendable {
        /// As the names say.
        case unknown = 0, disabled, enabled
    }

    /// The only manager.
    open class var sharedInstance: CXCallDirectoryManager { CXCallDirectoryManager() }

    /// Has the system make a request of an extension.
    open func reloadExtension(
        withIdentifier identifier: String,
        completionHandler completion: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        completion?(CXErrorCodeCallDirectoryManagerError(.noExtensionFound))
    }

    /// Says whether the user has allowed an extension.
    open func getEnabledStatusForExtension(
        withIdentifier identifier: String,
        completionHandler completion: @escaping @Sendable (EnabledStatus, (any Error)?) -> Void
    ) {
        completion(.unknown, CXErrorCodeCallDirectoryManagerError(.noExtensionFound))
    }
}
