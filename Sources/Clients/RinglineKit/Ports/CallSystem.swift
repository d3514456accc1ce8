public import CallClient
public import CallCore

/// A port: the system that shows calls to the user, and through which the user acts on them.
///
/// `CallKitSystem` of RinglineCallKit is the one for iOS. ``InAppCallSystem`` is for macOS, where there is no CallKit.
@MainActor
public protocol CallSystem: AnyObject {
    /// Takes the system's events; the kit sets it, and `nil` means that nobody is logged in.
    ///
    /// The system calls it before the function that brought the event returns; the kit makes its reports within that call. A
    /// system that already has a push token reports it when this is set.
    var events: (@MainActor @Sendable (CallSystemEvent) -> Void)? { get set }

    /// Whether the system answers each ``reportIncoming(_:_:)`` with `.reportSucceeded` or `.reportFailed`.
    ///
    /// The caller then hears the ringback tone only if the callee's device shows the call.
    var confirmsReports: Bool { get }

    /// Show an incoming call.
    ///
    /// This comes again for a call that is shown already if a further push came for it: every push needs a report, and the
    /// system does not ring again for a UUID that it knows.
    func reportIncoming(_ call: CallUUID, _ peer: CallClient.DisplayedPeer)
    /// The call was answered, and its media is being set up.
    func reportConnecting(_ call: CallUUID, isOutgoing: Bool)
    /// Media flows.
    func reportConnected(_ call: CallUUID, isOutgoing: Bool)
    /// The call has ended, and the system does not know it yet.
    func reportEnded(_ call: CallUUID, _ end: ReportedEnd)
    /// The displayed data of the peer changed.
    func update(_ call: CallUUID, _ peer: CallClient.DisplayedPeer)
    /// The user's action on this call is not possible.
    func refuse(_ call: CallUUID, _ refusal: CallClient.Refusal)
    /// Perform an action that the user took on the app's own screens.
    ///
    /// The system shows its effect on its own screens, and then reports the action as an event.
    func request(_ action: CallAction)
}

/// An event of the system.
public enum CallSystemEvent: Equatable, Sendable {
    /// The user calls somebody.
    case start(CallUUID, to: UserID, hasVideo: Bool)
    /// An input that the kit hands to the core unchanged: an answer, an end, a push, the audio session.
    case input(CallClient.Input)
    /// PushKit issued a token, in hexadecimal digits, or invalidated it (`nil`).
    case voipToken(String?)
}

/// An action of the user.
public enum CallAction: Equatable, Sendable {
    /// Call the user `to`, whose id is an address of this kind.
    case start(CallUUID, to: UserID, hasVideo: Bool, handleType: CallClient.HandleType)
    /// Answer.
    case answer(CallUUID)
    /// End, decline or cancel.
    case end(CallUUID)
    /// Put on hold (`true`), or resume.
    case setHeld(CallUUID, Bool)
    /// Switch the microphone off (`true`), or on.
    case setMuted(CallUUID, Bool)
    /// Enter DTMF digits.
    case playDTMF(CallUUID, String)
}
