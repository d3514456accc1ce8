import Dispatch
public import Foundation

/// The system behind a stubbed `CXProvider`, which tests play.
///
/// Apple's CallKit has no such type. It keeps every report in order, says which calls ring, and answers reports: at once, or when the test wants.
public final class CXSystem {
    /// A report of the app.
    public enum Report: Equatable {
        /// An incoming call, with its handle and its name.
        case incoming(UUID, String?, String?)
        /// The displayed data changed.
        case updated(UUID)
        /// An outgoing call is being connected.
        case connecting(UUID)
        /// An outgoing call is connected.
        case connected(UUID)
        /// The end of a call.
        case ended(UUID, CXCallEndedReason)
    }

    /// The system of the provider that was made last.
    nonisolated(unsafe) public static var current: CXSystem?

    /// The reports so far.
    public var reports: [Report] = []
    /// How often each call began to ring.
    public private(set) var rings: [UUID: Int] = [:]
    /// The handle under which each call was reported last.
    public private(set) var handles: [UUID: CXHandle] = [:]
    /// The calls that the system shows.
    public private(set) var shown: Set<UUID> = []
    /// The actions that the app asked for, which wait until ``performRequested()``.
    public private(set) var requested: [CXAction] = []
    /// The next incoming call gets this error.
    public var refusal: CXErrorCodeIncomingCallError.Code?
    /// Whether the answers to reports wait until ``answerReports(elsewhere:)``.
    public var answersLater = false
    /// Takes the actions.
    public internal(set) weak var delegate: (any CXProviderDelegate)?
    weak var provider: CXProvider?
    private var unanswered: [() -> Void] = []

    /// Answers the reports that wait; on another thread, as CallKit may do it, if the test wants that.
    public func answerReports(elsewhere: Bool = false) {
        let answers = unanswered
        unanswered = []
        for answer in answers {
            guard elsewhere else {
                answer()
                continue
            }
            nonisolated(unsafe) let moved = answer
            let answered = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                moved()
                answered.signal()
            }
            answered.wait()
        }
    }

    /// Has the app perform an action of the user.
    public func perform(_ action: CXAction) {
        guard let provider, let delegate else { return action.fail() }
        switch action {
        case let action as CXStartCallAction:
            shown.insert(action.callUUID)
            delegate.provider(provider, perform: action)
        case let action as CXAnswerCallAction: delegate.provider(provider, perform: action)
        case let action as CXEndCallAction:
            delegate.provider(provider, perform: action)
            shown.remove(action.callUUID)
        case let action as CXSetHeldCallAction: delegate.provider(provider, perform: action)
        case let action as CXSetMutedCallAction: delegate.provider(provider, perform: action)
        case let action as CXSetGroupCallAction: delegate.provider(provider, perform: action)
        case let action as CXPlayDTMFCallAction: delegate.provider(provider, perform: action)
        default: action.fail()
        }
    }

    /// Has the app perform what it asked for; CallKit does so in a later turn of the main queue.
    public func performRequested() {
        let actions = requested
        requested = []
        for action in actions { perform(action) }
    }

    /// Takes the audio session's activation, or an action's time-out, or a reset to the app.
    public func tell(_ body: (any CXProviderDelegate, CXProvider) -> Void) {
        if let delegate, let provider { body(delegate, provider) }
    }

    func requested(_ transaction: CXTransaction) { requested += transaction.actions }

    func reportedIncoming(_ call: UUID, _ update: CXCallUpdate, _ completion: @escaping ((any Error)?) -> Void) {
        handles[call] = update.remoteHandle
        reports.append(.incoming(call, update.remoteHandle?.value, update.localizedCallerName))
        var code = refusal
        refusal = nil
        if code == nil, !shown.insert(call).inserted { code = .callUUIDAlreadyExists }
        if code == nil { rings[call, default: 0] += 1 }
        let error = code.map { CXErrorCodeIncomingCallError($0) }
        if answersLater { unanswered.append { completion(error) } } else { completion(error) }
    }

    func reportedEnded(_ call: UUID, _ reason: CXCallEndedReason) {
        reports.append(.ended(call, reason))
        shown.remove(call)
    }
}
