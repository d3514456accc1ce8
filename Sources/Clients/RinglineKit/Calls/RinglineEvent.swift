public import CallClient

/// An event for the app's screens.
///
/// The system's own screens (CallKit) do not need them. The kit keeps the events until ``Ringline/onEvent`` is set, because
/// the user may answer a call before an app that a push woke has a screen.
public enum RinglineEvent: Equatable, Sendable {
    /// A call began, changed or ended; the value contains everything that a screen shows of it.
    ///
    /// For the end of a call there is one event, whose value has the phase `ended` and a reason.
    case changed(CallClient.Call)
    /// A device of the callee rings: play the ringback tone.
    case peerRinging(CallUUID)
    /// The server does not ring the peer now, for the reason of this code (`rate_limited`); the kit tries again after a pause.
    ///
    /// It comes once for each call and code.
    case delayed(CallUUID, code: String)
    /// The peer entered DTMF digits.
    case digits(CallUUID, String)
    /// The peer's app sent data: one JSON value as text.
    case info(CallUUID, String)
    /// The user's action on this call was not possible.
    case refused(CallUUID, CallClient.Refusal)
    /// The connection to the server opened (`true`) or closed. Calls go on without it.
    case connection(Bool)
    /// Another connection with this device's id has replaced this one.
    ///
    /// Two installations have the same id, or the app runs twice. If both reconnected, they would replace each other for ever;
    /// so this kit stays without a connection until the app comes to the foreground, the user calls or answers, or a push
    /// arrives.
    case connectionReplaced
    /// The ``TokenSource`` failed, with this description of its error, or its token is another user's; the kit asks it again
    /// after a pause.
    case tokenMissing(String)
    /// The server has taken this device's push tokens (`true`), or has not (`false`), and why.
    ///
    /// A `false` is `400 invalid_field: bundleId: missing`, say: as long as it comes, the device does not ring by pushes. The kit
    /// tries again, with pauses of 2 s to 300 s. With a `true` there is a text if the server can make no use of a token.
    case registered(Bool, String?)
    /// The logout is complete: the server has removed this device, and the kit no longer needs the token.
    case loggedOut
}
