package import CallCore

/// A push that was refused, or whose first attempt failed.
package struct PushFailure: Equatable, Sendable {
    /// The call that the push is about.
    package let call: CallID
    /// The user whose device was pushed.
    package let user: UserID
    /// The device.
    package let device: DeviceID
    /// The HTTP status of the push service's response; 0 = there was no response.
    package let status: Int
    /// The reason in the response, or why there was none.
    package let reason: String
}
