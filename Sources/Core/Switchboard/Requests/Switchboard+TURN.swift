import CallCore
import CallPorts
import CallWire

/// `GET /api/turn-cred`, and the ICE servers in `welcome` and in the responses that contain them.
extension Switchboard {
    mutating func turnCredential(of principal: Principal, as id: RequestID) {
        guard let issuer = ports.turnCredentials else {
            refuse(id, WireError(.notFound, "no TURN server is configured"))
            return
        }
        let credential = issuer.credential(for: principal.user, at: turn.now)
        let body = TURNCredentialBody.bytes(
            username: credential.username,
            credential: credential.credential,
            ttlSeconds: credential.ttlSeconds,
            urls: credential.urls,
            after: policy.iceServers
        )
        turn.out.append(.reply(id, Reply(body: body)))
    }

    /// Returns the ICE servers for a user: a JSON array of WebRTC's `RTCIceServer`.
    ///
    /// A client with a push's capability gets no credential: the capability is valid for one call alone, while a
    /// credential is valid for longer and for any use of the TURN server.
    func iceServers(for principal: Principal) -> [UInt8] {
        guard let issuer = ports.turnCredentials, principal.scope == nil else { return policy.iceServers }
        let credential = issuer.credential(for: principal.user, at: turn.now)
        return TURNCredentialBody.iceServers(
            username: credential.username,
            credential: credential.credential,
            urls: credential.urls,
            after: policy.iceServers
        )
    }
}
