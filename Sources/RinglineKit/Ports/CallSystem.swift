public import CallClient
public import CallCore

/// A port: the system that shows calls to the user, and through which the user acts on them.
///
/// `CallKitSystem` of RinglineCallKit is the one for iOS. ``InAppCallSystem`` is for macOS, where there is no CallKit.
@MainActor
public protocol CallSystem: AnyObject {
    /// Where the system reports its events; `nil` while nobody is logged in.
    ///
    /// The system calls it in the turn of its own event, and carries out the reports that come back in that turn. A system
    /// that has a push token by now reports it as soon as this is set.
    var events: (@MainActor @Sendable (CallSystemEvent) -> Void)? { get set }

    /// Whether the system says of each incoming call whether it shows it: `.reportSucceeded` or `.reportFailed`.
    ///
    /// The caller then hears the ringback tone only if the callee's device does show the call.
    var confirmsReports: Bool { get }

    /// Show an incoming call. Also for a call that is shown already, because a push came for it: every push needs a
    /// report, and the system does not ring again for a UUID that it knows.
    func reportIncoming(_ call: CallUUID, _ peer: CallClient.DisplayedPeer)
    /// The call was answered, and its media is being set up.
    func reportConnecting(_ call: CallUUID, isOutgoing: Bool)
    /// Media flows.
    func reportConnected(_ call: CallUUID, isOutgoing: Bool)
    /// The call has ended, and not by an action of this device's user.
    func reportEnded(_ call: CallUUID, _ end: ReportedEnd)
    /// The displayed data of the peer changed.
    func update(_ call: CallUUID, _ peer: CallClient.DisplayedPeer)
    /// The user's action on this call is not possible.
    func refuse(_ call: CallUUID, _ refusal: CallClient.Refusal)
    /// The app asks the system for an action of the user, who acted on the app's screens.
    ///
    /// The system shows it where it shows calls, and then reports it as an event.
    func request(_ action: CallAction)
}

/// An event of the system.
public enum CallSystemEvent: Equatable, Sendable {
    /// The user calls somebody.
    case start(CallUUID, to: UserID, hasVideo: Bool)
    /// Something that the core takes as it is: an answer, an end, a push, the audio session.
    case input(CallClient.Input)
    /// PushKit gave a token out, in hexadecimal digits, or took it back (`nil`).
    case voipToken(String?)
}

/// An action of the user.
public enum CallAction: Equatable, Sendable {
    /// Call somebody.
    case start(CallUUID, to: UserID, hasVideo: Bool)
    /// Answer.
    case answer(CallUUID)
    /// End, decline or cancel.
    case end(CallUUID)
    /// Put on hold (`true`), or resume.
    case setHeld(CallUUID, Bool)
    /// Switch the microphone off (`true`), or on.
    case setMuted(CallUUID, Bool)
    /// Enter digits.
    case playDTMF(CallUUID, String)
}
