#if canImport(CallKit) && !os(macOS)
public import AVFAudio
public import CallClient
import CallCore
public import CallKit
import Dispatch
public import Foundation
import PushKit
public import RinglineKit

/// The call system of iOS: CallKit and PushKit for a `Ringline`.
///
/// Make one in `application(_:didFinishLaunchingWithOptions:)` before anything else, and keep it as long as the app runs, also
/// while nobody is logged in: PushKit delivers its pushes as soon as that function has returned, and iOS ends an app that does
/// not report each of them.
///
/// ```swift
/// let system = CallKitSystem()
/// let ports = Ringline.Ports(media: engine, system: system, tokens: tokens, store: try FileStore())
/// let ringline = Ringline(configuration, ports)
/// ```
///
/// - Every push is reported before PushKit's method returns, whatever it contains, and PushKit's completion handler is
///   called when CallKit has answered the last report of that push, also with an error.
/// - CallKit and PushKit call the adapter on the main queue, so that it can report a push at once.
/// - The sources are Apple's pages
///   [PKPushRegistryDelegate](https://developer.apple.com/documentation/pushkit/pkpushregistrydelegate) and
///   [CXProvider](https://developer.apple.com/documentation/callkit/cxprovider).
@MainActor
public final class CallKitSystem: NSObject, CallSystem {
    /// When the action of the user's answer is fulfilled: from then on CallKit counts the seconds of the call.
    public enum AnswerFulfilment: Sendable {
        /// When media flows; until then, CallKit's screen shows that the call is being connected.
        case whenConnected
        /// At once.
        case atOnce
    }

    /// The settings of the adapter.
    @MainActor
    public struct Configuration {
        /// The settings of CallKit's provider.
        ///
        /// `Ringline.Configuration.maximumCalls` must be the product of `maximumCallGroups` and `maximumCallsPerCallGroup`.
        public var provider: CXProviderConfiguration
        /// When an answer is fulfilled; ``AnswerFulfilment/whenConnected`` by default.
        public var answerFulfilment = AnswerFulfilment.whenConnected
        /// The options of the audio session in calls without video; none by default.
        ///
        /// The mode `voiceChat` allows Bluetooth's hands-free profile by itself.
        public var audioOptions: AVAudioSession.CategoryOptions = []
        /// The options of the audio session in calls with video; `defaultToSpeaker` by default.
        ///
        /// The user of such a call looks at the screen. A headset is used first in any case.
        public var videoOptions: AVAudioSession.CategoryOptions = [.defaultToSpeaker]

        /// The server's address, as in `Ringline.Configuration`; `nil` = the server is not told of a push that comes while
        /// nobody is logged in.
        ///
        /// `ringline explain` then says why the device did not ring.
        public var server: URL?
        /// Sends these requests; `nil` = `URLSession` does.
        public var requests: (any RequestSender)?

        /// Creates a configuration for calls with and without video, two at a time, which the list of recent calls includes.
        public init() {
            provider = CXProviderConfiguration()
            provider.supportsVideo = true
            provider.maximumCallGroups = 2
            provider.maximumCallsPerCallGroup = 1
            provider.supportedHandleTypes = [.generic]
            provider.includesCallsInRecents = true
        }
    }

    /// Takes the events; a `Ringline` sets it when it is created, and `nil` means that nobody is logged in.
    ///
    /// If several users are signed in at a time, each `Ringline` has an account of its own: ``account(for:label:)``.
    public var events: (@MainActor @Sendable (CallSystemEvent) -> Void)? {
        get { own.events }
        set { own.events = newValue }
    }

    /// `true`: CallKit answers each report of an incoming call.
    public let confirmsReports = true

    /// CallKit's provider, for functions that this adapter does not use.
    public let provider: CXProvider
    let configuration: Configuration
    let controller: CXCallController
    let registry: PKPushRegistry
    /// Sends what no account can send.
    private(set) lazy var requests: any RequestSender = configuration.requests ?? URLSessionTransport()
    /// The account of an app that uses the adapter itself.
    private lazy var own = CallKitAccount(nil, label: nil, of: self)
    /// The accounts that are signed in, in the order of their login.
    var accounts: [CallKitAccount] = []
    /// The calls that CallKit knows.
    var lines: [CallUUID: Line] = [:]
    /// Whether CallKit has activated the audio session.
    var isAudioActive = false
    /// The answers and starts that are not fulfilled yet.
    var answering: [CallUUID: CXAnswerCallAction] = [:]
    var starting: [CallUUID: CXStartCallAction] = [:]
    /// The actions on calls that the core is taking.
    var pending: [CallUUID: CXCallAction] = [:]
    /// The push that is being handled.
    var currentPush: PushTurn?

    /// Creates the adapter, and asks PushKit for a token.
    ///
    /// - Parameter configuration: the settings; `nil` = ``Configuration/init()``.
    public init(_ configuration: Configuration? = nil) {
        let configuration = configuration ?? Configuration()
        self.configuration = configuration
        provider = CXProvider(configuration: configuration.provider)
        controller = CXCallController()
        registry = PKPushRegistry(queue: .main)
        super.init()
        DispatchQueue.main.setSpecific(key: Self.mainQueue, value: true)
        provider.setDelegate(self, queue: nil)
        registry.delegate = self
        registry.desiredPushTypes = [.voIP]
    }

    // MARK: Reports

    /// Reports an incoming call to CallKit, and CallKit's answer to the kit.
    public func reportIncoming(_ call: CallUUID, _ peer: CallClient.DisplayedPeer) {
        reportIncoming(call, peer, of: own)
    }

    func reportIncoming(_ call: CallUUID, _ peer: CallClient.DisplayedPeer, of account: CallKitAccount) {
        let turn = currentPush
        turn?.reported()
        note(call, peer, of: account)
        provider.reportNewIncomingCall(with: call.uuid, update: peer.update(of: account)) {
            [weak self, weak account] error in
            let silence = Self.silence(error)
            Self.onMain {
                if silence != nil { self?.lines[call] = nil }
                account?.events?(.input(silence.map { .reportFailed(call, $0) } ?? .reportSucceeded(call)))
                turn?.answered()
            }
        }
    }

    /// Records what CallKit is told about a call.
    private func note(_ call: CallUUID, _ peer: CallClient.DisplayedPeer, of account: CallKitAccount) {
        var line = lines[call] ?? Line(account: account, hasVideo: peer.hasVideo)
        let isChanged = line.hasVideo != peer.hasVideo
        line.hasVideo = peer.hasVideo
        lines[call] = line
        if isChanged, line.isTaken { prepareAudio(hasVideo: line.hasVideo) }
    }

    /// Reports that an outgoing call is being connected.
    public func reportConnecting(_ call: CallUUID, isOutgoing: Bool) {
        if isOutgoing { provider.reportOutgoingCall(with: call.uuid, startedConnectingAt: nil) }
    }

    /// Fulfils the answer of an incoming call, or reports that an outgoing call is connected.
    public func reportConnected(_ call: CallUUID, isOutgoing: Bool) {
        answering.removeValue(forKey: call)?.fulfill()
        if isOutgoing { provider.reportOutgoingCall(with: call.uuid, connectedAt: nil) }
    }

    /// Reports the end of a call, and fails its answer if it is not fulfilled yet.
    public func reportEnded(_ call: CallUUID, _ end: ReportedEnd) {
        answering.removeValue(forKey: call)?.fail()
        lines[call] = nil
        provider.reportCall(with: call.uuid, endedAt: nil, reason: end.reason)
    }

    /// Reports changed data of the peer.
    public func update(_ call: CallUUID, _ peer: CallClient.DisplayedPeer) { update(call, peer, of: own) }

    func update(_ call: CallUUID, _ peer: CallClient.DisplayedPeer, of account: CallKitAccount) {
        if lines[call] != nil { note(call, peer, of: account) }
        provider.reportCall(with: call.uuid, updated: peer.update(of: account))
    }

    /// Fails the action that the core refused.
    public func refuse(_ call: CallUUID, _ refusal: CallClient.Refusal) {
        answering.removeValue(forKey: call)?.fail()
        if let start = starting.removeValue(forKey: call) {
            start.fail()
            lines[call] = nil
        }
        pending.removeValue(forKey: call)?.fail()
    }

    // MARK: Requests

    /// Asks CallKit for an action, which CallKit then has this adapter perform.
    public func request(_ action: CallAction) { request(action, of: own) }

    func request(_ action: CallAction, of account: CallKitAccount) {
        switch action {
        case .start(let call, let peer, let hasVideo, let type):
            lines[call] = Line(account: account, hasVideo: hasVideo)
            let handle = CXHandle(type: type.type, value: account.handle(peer.text, type))
            let start = CXStartCallAction(call: call.uuid, handle: handle)
            start.isVideo = hasVideo
            request(start, of: call)
        case .answer(let call): request(CXAnswerCallAction(call: call.uuid), of: call)
        case .end(let call): request(CXEndCallAction(call: call.uuid), of: call)
        case .setHeld(let call, let isHeld): request(CXSetHeldCallAction(call: call.uuid, onHold: isHeld), of: call)
        case .setMuted(let call, let isMuted): request(CXSetMutedCallAction(call: call.uuid, muted: isMuted), of: call)
        case .playDTMF(let call, let digits):
            request(CXPlayDTMFCallAction(call: call.uuid, digits: digits, type: .singleTone), of: call)
        }
    }

    private func request(_ action: CXCallAction, of call: CallUUID) {
        let isEnd = action is CXEndCallAction
        let isStart = action is CXStartCallAction
        controller.request(CXTransaction(action: action)) { [weak self] error in
            guard error != nil else { return }
            // CallKit knows no such call (an end), or takes no further one (a start). The call ends in any case if the user
            // wants that; any other action that CallKit refuses changes nothing.
            Self.onMain {
                if isEnd { self?.tell(call, .end(call)) }
                if isEnd || isStart { self?.lines[call] = nil }
            }
        }
    }

    // MARK: Helpers

    /// Marks the main queue.
    ///
    /// `Thread.isMainThread` is not enough: off Apple's platforms, other threads run work of the main queue too.
    private nonisolated static let mainQueue = DispatchSpecificKey<Bool>()

    /// Runs a function on the main actor: at once on the main queue, else in a later turn of it.
    ///
    /// CallKit does not say on which queue it calls its completion handlers.
    nonisolated static func onMain(_ work: @escaping @MainActor @Sendable () -> Void) {
        if DispatchQueue.getSpecific(key: mainQueue) == true {
            MainActor.assumeIsolated(work)
        } else {
            DispatchQueue.main.async { MainActor.assumeIsolated(work) }
        }
    }

    /// Returns why the system does not show a call; `nil` = it shows the call.
    nonisolated static func silence(_ error: (any Error)?) -> Silence? {
        guard let error else { return nil }
        guard let error = error as? CXErrorCodeIncomingCallError else { return .system }
        switch error.code {
        // The call is shown already: the push came again, or the call came over the connection before.
        case .callUUIDAlreadyExists: return nil
        case .filteredByDoNotDisturb: return .focus
        case .filteredByBlockList: return .blockList
        default: return .system
        }
    }

    static func hex(_ token: Data) -> String { token.map { String(format: "%02x", $0) }.joined() }
}
#endif
