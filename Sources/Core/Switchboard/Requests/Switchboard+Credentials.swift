package import CallCore
import CallPorts
import CallWire

extension Switchboard {
    /// A request for a credential or a key, or to revoke tokens (protocol, section 5).
    package enum CredentialRequest: Sendable {
        /// Return a credential for the TURN server.
        case turn
        /// Return the public key that browsers need to subscribe to Web Push.
        case webPushKey
        /// Refuse all tokens that were issued to a user so far; `nil` = to the user that makes the request.
        case revokeTokens(UserID?)

        /// The request's name in the log.
        var name: LogWord {
            switch self {
            case .turn: "turn_credential"
            case .webPushKey: "web_push_key"
            case .revokeTokens: "log_out"
            }
        }
    }
}

/// Credentials, keys and tokens, as users request or revoke them.
extension Switchboard {
    mutating func credentials(_ asked: CredentialRequest, by principal: Principal, as id: RequestID) {
        switch asked {
        case .turn: turnCredential(of: principal, as: id)
        case .webPushKey: webPushKey(as: id)
        case .revokeTokens(let user): revokeTokens(user, by: principal, as: id)
        }
    }

    private mutating func webPushKey(as id: RequestID) {
        guard let key = policy.applicationServerKey else {
            refuse(id, WireError(.notFound, "this server sends no Web Push messages"))
            return
        }
        turn.out.append(.reply(id, Reply(body: AcceptedBody.applicationServerKey(key))))
    }
}
