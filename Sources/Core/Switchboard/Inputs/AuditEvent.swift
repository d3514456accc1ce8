package import CallCore
import CallPorts

/// A security event that an operator may have to account for, such as a refused token or a revocation.
///
/// It never contains a token, a description or an address.
package enum AuditEvent: Equatable, Sendable {
    /// A token, or the capability of a push, was refused; with its user, or `nil` if the user is not certain.
    case tokenRefused(cause: String, UserID?)
    /// A push token of one user's device was registered by another user's device.
    case pushTokenMoved(PushKind, from: UserID, to: UserID, DeviceID)
    /// A user blocked another.
    case blocked(UserID, by: UserID)
    /// A user removed a block.
    case unblocked(UserID, by: UserID)
    /// A user blocked a phone number.
    case numberBlocked(by: UserID)
    /// A user removed the block of a phone number.
    case numberUnblocked(by: UserID)
    /// A service changed the names of callers in the call directory: those of a user, or those for all users (`nil`).
    case directoryChanged(by: UserID, of: UserID?, changed: Int)
    /// A user's tokens were revoked.
    case revoked(UserID, by: Revoker)
    /// The server was told to shut down.
    case stopping

    /// The party that requested a revocation.
    package enum Revoker: Equatable, Sendable {
        /// The user.
        case user
        /// A service, with its user id.
        case service(UserID)
        /// The operator, by `ringline revoke`.
        case theOperator
    }
}
