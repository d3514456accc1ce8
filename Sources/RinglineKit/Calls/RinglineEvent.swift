public import CallClient

/// An event for the app's screens.
///
/// The system's own screens (CallKit) need none of them. Events are kept until ``Ringline/onEvent`` is set: an app that a
/// push woke may answer a call before it has a screen.
public enum RinglineEvent: Equatable, Sendable {
    /// A call began, changed or ended; all that a screen shows of it is in the value.
    ///
    /// A call whose phase is `ended` comes once, with the reason.
    case changed(CallClient.Call)
    /// Play the ringback tone: a device of the callee alerts its user.
    case peerRinging(CallUUID)
    /// The peer entered digits.
    case digits(CallUUID, String)
    /// The peer's app sent data: one JSON value as text.
    case info(CallUUID, String)
    /// An action of the user was not possible.
    case refused(CallUUID, CallClient.Refusal)
    /// The connection to the server opened (`true`) or closed. Calls go on without it.
    case connection(Bool)
    /// The token source failed; the text is its error's.
    case tokenMissing(String)
    /// The logout is complete: the server has forgotten this device, and the token is needed no longer.
    case loggedOut
}
