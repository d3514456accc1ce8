import CallCore
import CallPorts
import CallWire
import JSON

/// `GET /api/turn-cred`, and the ICE servers in all responses that contain them.
extension Switchboard {
    mutating func turnCredential(of principal: Principal, as id: RequestID) {
        guard let issuer = ports.turnCredentials else {
            refuse(id, WireError(.notFound, "no TURN server is configured"))
            return
        }
        let credential = issuer.credential(for: principal.user, at: turn.now)
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.name("username")
        json.value(credential.username)
        json.name("credential")
        json.value(credential.credential)
        json.name("ttl")
        json.value(credential.ttlSeconds)
        json.name("urls")
        json.strings(credential.urls)
        json.name("iceServers")
        json.raw(iceServers(with: credential))
        json.endObject()
        turn.out.append(.reply(id, Reply(body: json.bytes)))
    }

    /// Returns the ICE servers for a user: a JSON array of WebRTC's `RTCIceServer`.
    ///
    /// A push's capability is valid for one call alone, so its bearer gets no credential that is valid for a day.
    func iceServers(for principal: Principal) -> [UInt8] {
        guard let issuer = ports.turnCredentials, principal.scope == nil else { return policy.iceServers }
        return iceServers(with: issuer.credential(for: principal.user, at: turn.now))
    }

    private func iceServers(with credential: TURNCredential) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginArray()
        json.rawMembers(policy.iceServers.dropFirst().dropLast())
        json.beginObject()
        json.name("urls")
        json.strings(credential.urls)
        json.name("username")
        json.value(credential.username)
        json.name("credential")
        json.value(credential.credential)
        json.endObject()
        json.endArray()
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func strings(_ texts: [String]) {
        beginArray()
        for text in texts { value(text) }
        endArray()
    }
}
