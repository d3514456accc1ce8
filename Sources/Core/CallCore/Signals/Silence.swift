/// Why the system of a callee's device does not show a call.
///
/// The device was reached, but does not alert its user. It says so by a `ringing` with `shown` false (protocol, section
/// 3.2).
public enum Silence: String, Sendable, CaseIterable {
    /// A Focus, or another setting of the device, lets no call through.
    case focus
    /// The user has blocked this caller in the system's settings.
    case blockList
    /// The system shows no further call at a time.
    case full
    /// Another reason of the system's own, or one that this version does not know.
    case system
    /// The push's `toUserId` names a user who is not signed in on the device.
    case otherUser
}
