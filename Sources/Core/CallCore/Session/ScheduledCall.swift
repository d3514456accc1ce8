/// What makes a call a scheduled one: the server begins it by itself, at the time that a schedule names.
///
/// No user makes this call; `caller` is a display name. No device of a user with that name takes part in the call,
/// sees it, or can end it.
public enum ScheduledCall: Equatable, Sendable {
    /// The user need not confirm the call: it rings once.
    case once
    /// The user is rung again until they confirm the call; `isLast`: whether no further ring follows this one.
    case confirmable(isLast: Bool)

    /// The device that stands for the caller in the call's log.
    public static let device = DeviceIdentity(id: deviceID, fingerprint: TokenFingerprint(rawValue: 0))

    private static var deviceID: DeviceID {
        guard let id = DeviceID("scheduler") else { preconditionFailure("the text is a device id") }
        return id
    }

    /// Maps an ordinary call's end reason to a scheduled call's.
    public func scheduled(_ reason: EndReason) -> EndReason {
        switch (self, reason) {
        case (_, .confirmed), (_, .cancelled), (_, .answeredElsewhere), (_, .declinedElsewhere): reason
        case (.once, .unanswered): .missed
        case (.once, _), (.confirmable(isLast: false), _): reason
        case (.confirmable(isLast: true), _): .givenUp
        }
    }
}
