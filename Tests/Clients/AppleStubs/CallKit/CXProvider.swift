public import AVFAudio
public import Dispatch
public import Foundation

// The part of Apple's CallKit that RinglineCallKit uses, for compiling and testing it where there is no Apple SDK.
// Declarations as in https://developer.apple.com/documentation/callkit; an optional method is one with a default here.

/// The user's name for a peer.
open class CXHandle: NSObject {
    /// The kind of a handle.
    public enum HandleType: Int, Sendable {
        /// An id of the app; a telephone number; a mail address.
        case generic = 1, phoneNumber, emailAddress
    }

    /// The kind.
    public let type: HandleType
    /// The text.
    public let value: String

    /// Creates a handle.
    public init(type: HandleType, value: String) {
        self.type = type
        self.value = value
    }
}

/// What the system shows of a call.
open class CXCallUpdate: NSObject {
    /// The peer.
    public var remoteHandle: CXHandle?
    /// The peer's name.
    public var localizedCallerName: String?
    /// Whether the call can be put on hold, grouped, taken out of a group, and sent digits.
    public var supportsHolding = true, supportsGrouping = true, supportsUngrouping = true, supportsDTMF = true
    /// Whether the call has video.
    public var hasVideo = false
}

/// The settings of a provider.
open class CXProviderConfiguration: NSObject {
    /// The file of the ringtone.
    public var ringtoneSound: String?
    /// The picture for the button of the app.
    public var iconTemplateImageData: Data?
    /// The largest number of groups of calls, and of calls in each.
    public var maximumCallGroups = 2, maximumCallsPerCallGroup = 5
    /// Whether calls are in the list of recent calls.
    public var includesCallsInRecents = true
    /// Whether there are calls with video.
    public var supportsVideo = false
    /// The kinds of handles.
    public var supportedHandleTypes: Set<CXHandle.HandleType> = []
}

/// Why a call ended.
public enum CXCallEndedReason: Int, Sendable {
    /// As the names say.
    case failed = 1, remoteEnded, unanswered, answeredElsewhere, declinedElsewhere
}

/// Why the system does not show an incoming call.
public struct CXErrorCodeIncomingCallError: Error, Equatable, Sendable {
    /// The codes.
    public enum Code: Int, Sendable {
        /// As the names say.
        case unknown = 0, unentitled, callUUIDAlreadyExists, filteredByDoNotDisturb, filteredByBlockList,
            filteredDuringRestrictedSharingMode, callIsProtected
    }

    /// The code.
    public let code: Code
    /// Creates an error.
    public init(_ code: Code) { self.code = code }
}

/// Takes the user's actions.
public protocol CXProviderDelegate: NSObjectProtocol {
    /// The system has forgotten all calls; required.
    func providerDidReset(_ provider: CXProvider)
    /// The provider has begun.
    func providerDidBegin(_ provider: CXProvider)
    /// Returns whether the app carries out the transaction itself, without the methods below.
    func provider(_ provider: CXProvider, execute transaction: CXTransaction) -> Bool
    /// The user calls somebody.
    func provider(_ provider: CXProvider, perform action: CXStartCallAction)
    /// The user answers.
    func provider(_ provider: CXProvider, perform action: CXAnswerCallAction)
    /// The user ends a call.
    func provider(_ provider: CXProvider, perform action: CXEndCallAction)
    /// The user holds or resumes a call.
    func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction)
    /// The user mutes the microphone.
    func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction)
    /// The user groups calls.
    func provider(_ provider: CXProvider, perform action: CXSetGroupCallAction)
    /// The user enters digits.
    func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction)
    /// An action took too long.
    func provider(_ provider: CXProvider, timedOutPerforming action: CXAction)
    /// The audio session is the app's.
    func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession)
    /// The audio session is no longer the app's.
    func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession)
}

// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension CXProviderDelegate {
    public func providerDidBegin(_ provider: CXProvider) {}
    public func provider(_ provider: CXProvider, execute transaction: CXTransaction) -> Bool { false }
    public func provider(_ provider: CXProvider, perform action: CXStartCallAction) { action.fail() }
    public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) { action.fail() }
    public func provider(_ provider: CXProvider, perform action: CXEndCallAction) { action.fail() }
    public func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) { action.fail() }
    public func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) { action.fail() }
    public func provider(_ provider: CXProvider, perform action: CXSetGroupCallAction) { action.fail() }
    public func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction) { action.fail() }
    public func provider(_ provider: CXProvider, timedOutPerforming action: CXAction) {}
    public func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) {}
    public func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) {}
}

/// Reports calls to the system; the stub hands them to its ``CXSystem``.
open class CXProvider: NSObject {
    /// The settings.
    public var configuration: CXProviderConfiguration
    /// What plays the system (of the stub).
    public let system = CXSystem()

    /// Creates a provider.
    public init(configuration: CXProviderConfiguration) {
        self.configuration = configuration
        super.init()
        system.provider = self
        CXSystem.current = system
    }

    /// Sets who takes the actions, and on which queue; `nil` = the main queue.
    open func setDelegate(_ delegate: (any CXProviderDelegate)?, queue: DispatchQueue?) { system.delegate = delegate }

    /// Reports an incoming call; the completion says whether the system shows it.
    open func reportNewIncomingCall(
        with UUID: UUID,
        update: CXCallUpdate,
        completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        system.reportedIncoming(UUID, update, completion)
    }

    /// Reports that what is shown of a call changed.
    open func reportCall(with UUID: UUID, updated update: CXCallUpdate) { system.reports.append(.updated(UUID)) }

    /// Reports the end of a call.
    open func reportCall(with UUID: UUID, endedAt dateEnded: Date?, reason endedReason: CXCallEndedReason) {
        system.reportedEnded(UUID, endedReason)
    }

    /// Reports that a call of this user is being connected.
    open func reportOutgoingCall(with UUID: UUID, startedConnectingAt dateStartedConnecting: Date?) {
        system.reports.append(.connecting(UUID))
    }

    /// Reports that a call of this user is connected.
    open func reportOutgoingCall(with UUID: UUID, connectedAt dateConnected: Date?) {
        system.reports.append(.connected(UUID))
    }
}

/// Asks the system for actions.
open class CXCallController: NSObject {
    /// The system of the provider that was made last (of the stub).
    private let system = CXSystem.current

    /// Asks for the actions of a transaction.
    open func request(_ transaction: CXTransaction, completion: @escaping @Sendable ((any Error)?) -> Void) {
        system?.requested(transaction)
        completion(nil)
    }
}
