import JSON

/// The credential for the TURN server, as WebRTC clients take it (protocol, section 5).
public struct TURNCredentialBody: Sendable {
    /// The user name.
    public var username: String
    /// The password for the user name.
    public var credential: String
    /// How long the credential is valid, in seconds.
    public var ttlSeconds: Int64
    /// The addresses of the servers: `turn:`, `turns:` and `stun:` (RFC 7064, RFC 7065).
    public var urls: [String]

    /// Creates a credential with the given members.
    public init(username: String, credential: String, ttlSeconds: Int64, urls: [String]) {
        self.username = username
        self.credential = credential
        self.ttlSeconds = ttlSeconds
        self.urls = urls
    }

    /// Returns the response to `GET /api/turn-cred`.
    ///
    /// `others`: The ICE servers that need no credential, a JSON array.
    public func bytes(after others: [UInt8]) -> [UInt8] {
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
        json.raw(iceServers(after: others))
        json.endObject()
        return json.bytes
    }

    /// Returns the ICE servers: a JSON array of WebRTC's `RTCIceServer`, with the TURN server last.
    ///
    /// `others`: The ICE servers that need no credential, a JSON array.
    public func iceServers(after others: [UInt8]) -> [UInt8] {
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
