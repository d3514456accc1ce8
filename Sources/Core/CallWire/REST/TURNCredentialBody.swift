import JSON

/// The credential for the TURN server, as WebRTC clients take it (protocol, section 5).
///
/// The members are those of `TURNCredential` in the module CallPorts. `others` are the ICE servers that need no
/// credential, a JSON array.
package enum TURNCredentialBody {
    /// Returns the response to `GET /api/turn-cred`.
    package static func bytes(
        username: String,
        credential: String,
        ttlSeconds: Int64,
        urls: [String],
        after others: [UInt8]
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.name("username")
        json.value(username)
        json.name("credential")
        json.value(credential)
        json.name("ttl")
        json.value(ttlSeconds)
        json.name("urls")
        json.array(urls) { url, json in json.value(url) }
        json.name("iceServers")
        json.raw(iceServers(username: username, credential: credential, urls: urls, after: others))
        json.endObject()
        return json.bytes
    }

    /// Returns the ICE servers: a JSON array of WebRTC's `RTCIceServer`, with the TURN server last.
    package static func iceServers(
        username: String,
        credential: String,
        urls: [String],
        after others: [UInt8]
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginArray()
        json.rawMembers(others.dropFirst().dropLast())
        json.beginObject()
        json.name("urls")
        json.array(urls) { url, json in json.value(url) }
        json.name("username")
        json.value(username)
        json.name("credential")
        json.value(credential)
        json.endObject()
        json.endArray()
        return json.bytes
    }
}
