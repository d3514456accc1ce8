import CallClient
import CallCore
import Foundation

/// The requests to the server, and the token that they need.
extension Ringline {
    func post(_ signal: OutgoingSignal, _ authorization: CallClient.Authorization) {
        request("POST", "/api/calls/signal", signal.body, authorization) { [weak self] response in
            self?.take(.posted(signal.id, Ack.reply(status: response.status, body: response.body)))
        }
    }

    func fetch(
        _ number: FetchNumber,
        _ callID: CallID,
        _ peer: UserID,
        _ since: CallClient.Cursor?,
        _ authorization: CallClient.Authorization
    ) {
        var path = "/api/calls/signal/\(Self.escaped(callID.text))"
        path += "?device=\(Self.escaped(device.text))&peer=\(Self.escaped(peer.text))"
        if let since { path += "&epoch=\(since.epoch)&since=\(since.seq)" }
        request("GET", path, [], authorization) { [weak self] response in
            self?.use(response.body)
            self?.take(.fetched(number, FetchedCall.reply(status: response.status, body: response.body)))
        }
    }

    func register(_ input: Registration.Input) {
        for output in registration.handle(input, at: ports.clock.now) {
            switch output {
            case .upload(let number, let tokens):
                request("PUT", "/api/me/devices", registration.body(of: tokens), .token) { [weak self] response in
                    self?.emitRegistration(response)
                    self?.registered(number, response)
                }
            case .remove(let number):
                let path = "/api/me/devices/\(Self.escaped(device.text))"
                // `self`, not a weak reference: an app may drop the kit at logout.
                request("DELETE", path, [], .token) { response in self.registered(number, response) }
            }
        }
        settle()
    }

    /// Tells the app whether the server has taken the push tokens.
    private func emitRegistration(_ response: SignalingResponse) {
        if let problem = response.problem { return emit(.registered(false, problem)) }
        emit(.registered(true, response.members?.message))
    }

    private func registered(_ number: RegistrationNumber, _ response: SignalingResponse) {
        if response.status == 401, !isLoggedOut { tokenRefused() }
        register(.answered(number, RequestFailure(status: response.status, body: response.body)))
    }

    /// Requests fresh TURN credentials for the calls to come.
    func renewTURNCredentials(at now: Moment) {
        turnRenewal.requested(at: now)
        request("GET", "/api/turn-cred", [], .token) { [weak self] response in
            guard let self, !isLoggedOut else { return }
            switch response.status {
            case 200 where use(response.body): break
            case 404: turnRenewal.stop()
            default:
                if response.status == 401 { tokenRefused() }
                turnRenewal.failed(at: ports.clock.now)
            }
            settle()
        }
    }

    /// Gets calls of the user's history from the server, newest first.
    ///
    /// ```swift
    /// var calls = try await ringline.history()
    /// if let last = calls.last { calls += try await ringline.history(before: last.id) }
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the largest number of calls, 1 to 500.
    ///   - before: the ``PastCall/id`` of a call: only those before it are returned; `nil` = from the newest one.
    /// - Returns: the calls, newest first; fewer than `limit` if there are no more.
    /// - Throws: ``RinglineRequestError`` if the server refuses, or cannot be reached.
    public func history(limit: Int = 50, before: Int64? = nil) async throws(RinglineRequestError) -> [PastCall] {
        let path = "/api/calls?limit=\(limit)" + (before.map { "&before=\($0)" } ?? "")
        let response = await withCheckedContinuation { continuation in
            request("GET", path, [], .token) { continuation.resume(returning: $0) }
        }
        if response.status == 401, !isLoggedOut { tokenRefused() }
        if let problem = response.problem {
            throw RinglineRequestError(status: response.status, description: problem)
        }
        do { return try JSONDecoder().decode([PastCall].self, from: Data(response.body)) } catch {
            throw RinglineRequestError(status: response.status, description: "the response is no history: \(error)")
        }
    }

    private func request(
        _ method: String,
        _ path: String,
        _ body: [UInt8],
        _ authorization: CallClient.Authorization,
        _ reply: @escaping @MainActor @Sendable (SignalingResponse) -> Void
    ) {
        let url = base + path
        let requests = ports.requests
        let reply: @MainActor @Sendable (SignalingResponse) -> Void = { [weak self] response in
            self?.log("\(method) \(path.prefix { $0 != "?" }): \(response.problem ?? "\(response.status)")")
            reply(response)
        }
        switch authorization {
        case .capability(let capability):
            let request = SignalingRequest(method: method, url: url, body: body, authorization: "Ring \(capability)")
            requests.send(request, reply: reply)
        case .token:
            tokens.use { token in
                guard let token else { return reply(.none) }
                let request = SignalingRequest(method: method, url: url, body: body, authorization: "Bearer \(token)")
                requests.send(request, reply: reply)
            }
        }
    }

    // MARK: The token

    /// The server has refused the token: the core uses the capabilities of pushes, and asks for a fresh token.
    func tokenRefused() { take(.tokenExpired) }

    func tokenRenewed() {
        take(.tokenRenewed)
        // Not urgently: otherwise a server that refuses every token would get attempts without a pause.
        if wantsConnection { connect(isUrgent: false) }
    }

    // MARK: Addresses

    /// The server's address without a slash at its end.
    var base: String { configuration.server.baseOfPaths }

    /// An id may contain a plus sign, which would mean a blank in a query.
    static func escaped(_ id: String) -> String {
        id.reduce(into: "") { path, character in
            switch character {
            case "+": path += "%2B"
            case "#": path += "%23"
            case "|": path += "%7C"
            default: path.append(character)
            }
        }
    }
}
