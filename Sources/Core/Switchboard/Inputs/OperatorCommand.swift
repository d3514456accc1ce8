package import CallCore

extension Switchboard {
    /// An operator's command to the running server; it is durable before ``Output/done(_:)`` is sent.
    package enum OperatorCommand: Equatable, Sendable {
        /// Revoke a user's tokens that were issued up to a moment, as `POST /api/logout-all` does.
        case revoke(UserID, before: Moment)
        /// Deliver events to the app's backend again.
        case resendEvents(EventDeliveries.Resend)
    }
}

/// The number of an operator's command, assigned by the gateway; never reused.
package struct OperatorCommandID: Hashable, Sendable {
    /// The number.
    package let rawValue: UInt64

    /// The command with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}
