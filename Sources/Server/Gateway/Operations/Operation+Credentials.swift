import CallWire
import Switchboard

extension Operation {
    /// Credentials, keys and tokens.
    static let credentials = [
        Operation("GET", "/api/turn-cred") { _ in .credentials(.turn) },
        Operation("GET", "/api/web-push") { _ in .credentials(.webPushKey) },
        Operation("POST", "/api/logout-all", body: .jsonOrNone) { content throws(WireError) in
            // Most clients send no body at all.
            guard !content.body.isEmpty else { return .credentials(.revokeTokens(nil)) }
            return .credentials(.revokeTokens(try RequestBody.revokedUser(in: content.body)))
        },
    ]
}
