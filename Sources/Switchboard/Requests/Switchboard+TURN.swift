import CallCore
import CallPorts
import CallWire

/// `GET /api/turn-cred`, and the ICE servers in all responses that contain them.
extension Switchboard {
    mutating func turnCredential(of principal: Principal, as id: RequestID) {
        guard let issuer = ports.turnCredentials else {
            refuse(id, WireError(.notFound, "no TURN server is configured"))
            return
        }
        let body = TURNCredentialBody(issuer.credential(for: principal.user, at: turn.now))
        turn.out.append(.reply(id, Reply(body: body.bytes(after: policy.iceServers))))
    }

    /// Returns the ICE servers for a user: a JSON array of WebRTC's `RTCIceServer`.
    ///
    /// A client with a push's capability gets no credential: the capability is valid for one call alone, while a
    /// credential is valid for longer and for any use of the TURN server.
    func iceServers(for principal: Principal) -> [UInt8] {
        guard let issuer = ports.turnCredentials, principal.scope == nil else { return policy.iceServers }
        return TURNCredentialBody(issuer.credential(for: principal.user, at: turn.now)).iceServers(
            after: policy.iceServers
        )
    }
}

extension TURNCredentialBody {
    fileprivate init(_ credential: TURNCredential) {
        self.init(
            username: credential.username,
            credential: credential.credential,
            ttlSeconds: credential.ttlSeconds,
            urls: credential.urls
        )
    }
}
