public import CallCore

/// What an operator may one day have to answer for: who was turned away, what changed hands, who asked for it.
///
/// It never holds a token, a description or an address.
public enum AuditEvent: Equatable, Sendable {
    /// A token, or the capability of a push, was refused; whose it is, where that is certain.
    case tokenRefused(cause: String, UserID?)
    /// A push token that one user's device had was registered by another user's.
    case pushTokenMoved(PushOrder.Kind, from: UserID, to: UserID, DeviceID)
    /// A user blocked another.
    case blocked(UserID, by: UserID)
    /// A user took a block back.
    case unblocked(UserID, by: UserID)
    /// A user was logged out everywhere.
    case revoked(UserID, by: Revoker)
    /// The server was told to end.
    case stopping

    /// Who had a user logged out everywhere.
    public enum Revoker: Equatable, Sendable {
        /// The user.
        case user
        /// A service, by its user id.
        case service(UserID)
        /// The operator, by `ringline revoke`.
        case theOperator
    }
}
