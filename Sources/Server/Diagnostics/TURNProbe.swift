import Crypto
package import Identity

/// Takes an allocation on a TURN server as a client would, and releases it immediately (RFC 8656, section 6).
package struct TURNProbe {
    let server: Address
    let credential: TimeLimitedCredential

    /// Creates a probe of a server with a credential for it.
    package init(server: Address, credential: TimeLimitedCredential) {
        self.server = server
        self.credential = credential
    }

    /// The parsed address of a `turn:` or `turns:` URL.
    package struct Address: Equatable {
        package let host: String
        package let port: Int
        package let isTCP: Bool
        package let isTLS: Bool
        /// Whether the URL asks for TLS over UDP (DTLS), which this probe does not support.
        package let isDTLS: Bool

        /// Parses a URL that the settings have accepted; `nil` for the URL of a STUN server.
        package init?(_ url: String) {
            guard url.hasPrefix("turn:") || url.hasPrefix("turns:") else { return nil }
            let parts = url.split(separator: "?", maxSplits: 1)
            isTLS = parts[0].hasPrefix("turns:")
            isDTLS = isTLS && parts.count == 2 && parts[1] == "transport=udp"
            isTCP = isTLS || parts.count == 2 && parts[1] == "transport=tcp"
            var rest = parts[0].drop { $0 != ":" }.dropFirst()
            var port = isTLS ? 5_349 : 3_478
            // The last colon begins the port, unless it is inside the brackets of an IPv6 address.
            if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
                port = Int(rest[rest.index(after: colon)...]) ?? port
                rest = rest[..<colon]
            }
            host = String(rest.filter { $0 != "[" && $0 != "]" })
            self.port = port
        }
    }

    /// The result of an allocation.
    package enum Result: Equatable {
        /// An allocation was granted for that many seconds; `nil` if the server did not state its lifetime.
        case allocated(lifetimeSeconds: Int?)
        /// An allocation was granted without a credential.
        case allocatedWithoutCredential
        /// The server refused a request, because of the credential or otherwise, with this code and reason phrase.
        case refused(code: Int, reason: String)
        /// There was no response, or one that is no TURN message; the text says why.
        case silent(String)
    }

    /// The result, and any fault of the server's certificate.
    package struct Outcome: Equatable {
        package let result: Result
        /// Why the certificate is not trusted; `nil` if it is trusted, and without TLS.
        package var certificateFault: String?

        /// Creates an outcome with the given members.
        package init(result: Result, certificateFault: String? = nil) {
            self.result = result
            self.certificateFault = certificateFault
        }
    }

    /// Tries each of the server's addresses until one responds.
    package func run() -> Outcome {
        let addresses: [ClientSocket.Address]
        do { addresses = try ClientSocket.addresses(of: server.host, port: server.port) } catch {
            return Outcome(result: .silent(error.description))
        }
        let place = "\(server.host), port \(server.port)"
        var outcome = Outcome(result: .silent("nothing listens on \(place)"))
        for address in addresses {
            let socket = ClientSocket(to: address, isDatagram: !server.isTCP, timeoutMilliseconds: 1_000)
            guard let socket else { continue }
            guard !server.isTLS || socket.startTLS(host: server.host) else {
                outcome = Outcome(result: .silent("no TLS on \(place)"))
                continue
            }
            outcome = Outcome(result: allocate(on: socket), certificateFault: socket.certificateFault)
            guard case .silent = outcome.result else { break }
        }
        return outcome
    }

    /// Sends two requests: the response to the first one contains the realm and the nonce for the credential.
    private func allocate(on socket: ClientSocket) -> Result {
        let transport = STUNMessage.Attribute(name: .requestedTransport, value: [17, 0, 0, 0])
        guard let challenge = exchange(STUNMessage(.allocate, [transport]), on: socket) else {
            return .silent("no response from \(server.host), port \(server.port), \(server.isTCP ? "TCP" : "UDP")")
        }
        if challenge.kind == .allocated { return .allocatedWithoutCredential }
        guard challenge.error?.code == 401, let realm = challenge[.realm], let nonce = challenge[.nonce] else {
            return Self.refusal(challenge)
        }
        let secret = Array("\(credential.username):".utf8) + realm + Array(":\(credential.credential)".utf8)
        guard let key = MD5.hash(secret) else { return .silent("OpenSSL lacks MD5, which TURN needs") }
        let shown: [STUNMessage.Attribute] = [
            .init(name: .username, value: Array(credential.username.utf8)), .init(name: .realm, value: realm),
            .init(name: .nonce, value: nonce),
        ]
        guard let response = exchange(STUNMessage(.allocate, [transport] + shown), key: key, on: socket) else {
            return .silent("no response to the request with the credential")
        }
        guard response.kind == .allocated else { return Self.refusal(response) }
        // Releases the allocation, so that no port is held for ten minutes (the usual lifetime). If this request is
        // lost, the allocation expires by itself.
        let end = STUNMessage(.refresh, [.init(name: .lifetime, value: [0, 0, 0, 0])] + shown)
        _ = exchange(end, key: key, on: socket)
        let lifetime = response[.lifetime].map { $0.reduce(0) { $0 << 8 | Int($1) } }
        return .allocated(lifetimeSeconds: lifetime)
    }

    private static func refusal(_ response: STUNMessage) -> Result {
        guard let error = response.error else { return .silent("the response is not TURN") }
        return .refused(code: error.code, reason: error.reason)
    }

    /// Sends a request and waits for its response; over UDP it sends the request up to three times, because packets get
    /// lost.
    private func exchange(_ request: STUNMessage, key: [UInt8]? = nil, on socket: ClientSocket) -> STUNMessage? {
        for _ in 0..<(server.isTCP ? 1 : 3) {
            guard socket.send(request.encoded(key: key)) else { return nil }
            // A late response to an earlier request may come first.
            for _ in 0..<4 {
                guard let bytes = receive(on: socket) else { break }
                if let response = STUNMessage(bytes), response.transaction == request.transaction { return response }
            }
        }
        return nil
    }

    /// Receives one message: a datagram, or, from a stream, as many bytes as its header announces.
    private func receive(on socket: ClientSocket) -> [UInt8]? {
        guard server.isTCP else {
            let bytes = socket.receive()
            return bytes.isEmpty ? nil : bytes
        }
        var bytes: [UInt8] = []
        while true {
            let wanted = STUNMessage.headerCount + (STUNMessage.length(of: bytes) ?? 0)
            if bytes.count >= STUNMessage.headerCount, bytes.count >= wanted { return bytes }
            let more = socket.receive(limit: wanted - bytes.count)
            guard !more.isEmpty else { return nil }
            bytes += more
        }
    }
}
