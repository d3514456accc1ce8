public import CallCore

/// A push that was refused, or whose first attempt failed.
public struct PushFailure: Equatable, Sendable {
    /// The call that the push is about.
    public let call: CallID
    /// The user whose device was pushed.
    public let user: UserID
    /// The device.
    public let device: DeviceID
    /// The HTTP status of the push service's response; 0 = there was no response.
    public let status: Int
    /// The reason in the response, or why there was none.
    public let reason: String
}
