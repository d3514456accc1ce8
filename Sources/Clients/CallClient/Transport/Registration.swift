public import CallCore

/// Keeps the registration of a device on the server in step with the push tokens that the device has.
///
/// The app wants the server to have the tokens that the system has issued; a response confirms which tokens the server has.
/// The tokens are uploaded at launch, at login, at each change, and once a day, because the server removes a token that the
/// push service refuses, and does not tell the device. Only one request is under way at a time, so that an earlier one cannot
/// overwrite a later one. After a failure there is a pause of 2, 4, 8 … 300 s.
///
/// ```swift
/// func register(_ input: Registration.Input) {
///     for output in registration.handle(input, at: now()) {
///         switch output {
///         case .upload(let number, let tokens):
///             request("PUT", "/api/me/devices", registration.body(of: tokens)) { status, body in
///                 register(.answered(number, RequestFailure(status: status, body: body)))
///             }
///         case .remove(let number):
///             request("DELETE", "/api/me/devices/\(registration.device.text)", []) { status, body in
///                 register(.answered(number, RequestFailure(status: status, body: body)))
///             }
///         }
///     }
///     registrationTimer.schedule(at: registration.deadline)  // When it fires: register(.deadlineReached)
/// }
///
/// register(.loggedIn)                                  // At launch, if a user is logged in, and at login.
/// register(.token(.voip, credentials.token.hex))       // PushKit issued a token.
/// register(.token(.voip, nil))                         // PushKit invalidated the token.
/// register(.loggedOut)                                 // Keep the bearer token until `isSettled`.
/// ```
///
/// - A token that the system has invalidated must leave the server. An upload without the token would not remove it, because
///   absent members keep their values on the server. So the device's row is removed, and the other tokens are uploaded again.
/// - At logout the row is removed, so that the device no longer rings for this user.
/// - All kinds of tokens are handled in the same way, and are in one upload.
public struct Registration: Equatable, Sendable {
    /// The id of the device.
    public let device: DeviceID
    /// The platform, such as `ios`, `android` or `web` (protocol, section 5.5).
    public let platform: String
    /// The app's bundle id.
    public let bundleID: String
    /// The service of Apple to which the tokens belong; `nil` = unknown, and the server finds out.
    public let environment: Environment?
    /// The id of the installation, for an app on which several users may be signed in; `nil` = one user at a time.
    public var installation: String?
    /// The name of the sound of an alert that rings, a file in the app; `nil` = the system's.
    public var sound: String?
    /// Whether the app's notification service extension may change alerts; `nil` = the server keeps what it knows.
    public var mutableContent: Bool?

    /// The tokens that the app wants on the server.
    public private(set) var wanted = Tokens()
    /// The tokens that the server confirmed last; `nil` = it is unknown what the server has.
    public private(set) var confirmed: Tokens?
    /// Whether a user is logged in.
    public private(set) var isLoggedIn = false

    private var confirmedAt: Moment?
    private var removal = Removal.none
    private var request = Request.none
    private var failures = 0
    private var lastNumber: UInt64 = 0

    /// Why the row must be removed.
    private enum Removal { case none, withdrawal, logout }

    private enum Request: Equatable {
        case none
        /// A request is under way; if no response has come by then, none will.
        case underWay(RegistrationNumber, Content, until: Moment)
        /// The last request failed, and the next one waits.
        case pausing(until: Moment)
    }

    private enum Content: Equatable { case upload(Tokens), remove }

    /// Creates a state machine for one installation, without tokens and without a user.
    public init(device: DeviceID, platform: String, bundleID: String, environment: Environment? = nil) {
        self.device = device
        self.platform = platform
        self.bundleID = bundleID
        self.environment = environment
    }

    /// Whether the server has the wanted tokens, as far as the app knows, and no request is under way or planned except the
    /// daily upload.
    public var isSettled: Bool { next(at: nil) == nil && request == .none }

    /// The moment at which ``Input/deadlineReached`` is due; `nil` while nothing is waited for.
    public var deadline: Moment? {
        switch request {
        case .underWay(_, _, let until), .pausing(let until): until
        case .none: isLoggedIn && !wanted.isEmpty ? confirmedAt.map { $0 + ClientLimits.uploadInterval } : nil
        }
    }

    /// Takes one input and returns what the app must do about it, in order.
    ///
    /// - Parameters:
    ///   - input: what happened.
    ///   - now: the moment at which it happened, by this device's clock.
    /// - Returns: the outputs. Afterwards ``deadline`` may have changed.
    public mutating func handle(_ input: Input, at now: Moment) -> [Output] {
        switch input {
        case .loggedIn:
            // It is unknown which tokens the server has. If the same user logs in again before their row was removed,
            // the row may hold a token that was taken back since. If it is another user, there is no row to remove, and
            // the upload takes the tokens away from the earlier user.
            isLoggedIn = true
            confirmed = nil
            if removal == .logout { removal = .withdrawal }
            dropPause()
        case .loggedOut:
            guard isLoggedIn else { break }
            isLoggedIn = false
            confirmed = nil
            removal = .logout
            dropPause()
        case .token(let kind, let token):
            guard wanted[kind] != token else { break }
            wanted[kind] = token
            // Whether an earlier launch or a request without a response has uploaded the token is unknown.
            if token == nil, isLoggedIn { removal = .withdrawal }
            dropPause()
        case .answered(let number, let failure):
            if case .underWay(number, let content, _) = request { answered(content, failure, at: now) }
        case .deadlineReached: break
        }
        switch request {
        // The app may have been suspended, and then no response comes.
        case .underWay(_, _, let until) where now >= until: failed(at: now)
        case .pausing(let until) where now >= until: request = .none
        case .pausing(let until): request = .pausing(until: min(until, now + ClientLimits.longestUploadPause))
        case .none, .underWay: break
        }
        guard request == .none, let content = next(at: now) else { return [] }
        lastNumber += 1
        let number = RegistrationNumber(rawValue: lastNumber)
        request = .underWay(number, content, until: now + ClientLimits.uploadTimeout)
        return switch content {
        case .upload(let tokens): [.upload(number, tokens)]
        case .remove: [.remove(number)]
        }
    }

    /// The next registration request, `nil` = none; without `now`, skips the daily refresh.
    private func next(at now: Moment?) -> Content? {
        if removal != .none { return .remove }
        guard isLoggedIn, !wanted.isEmpty else { return nil }
        guard confirmed == wanted, let confirmedAt else { return .upload(wanted) }
        guard let now else { return nil }
        // A confirmation of the future means that the clock was set back.
        let isDue = now >= confirmedAt + ClientLimits.uploadInterval || now < confirmedAt
        return isDue ? .upload(wanted) : nil
    }

    private mutating func answered(_ content: Content, _ failure: RequestFailure?, at now: Moment) {
        switch (content, failure) {
        case (.upload(let tokens), nil):
            confirmed = isLoggedIn ? tokens : nil
            confirmedAt = now
        case (.remove, nil), (.remove, .refused(code: "not_found")): removed()
        // The user was logged out everywhere, which has removed the row.
        case (.remove, .refused(code: "unauthenticated")) where removal == .logout: removed()
        case (.upload, .some), (.remove, .some):
            failed(at: now)
            return
        }
        request = .none
        failures = 0
    }

    private mutating func removed() {
        removal = .none
        confirmed = nil
    }

    private mutating func dropPause() {
        failures = 0
        if case .pausing = request { request = .none }
    }

    private mutating func failed(at now: Moment) {
        failures = min(failures + 1, 16)
        let doubled = ClientLimits.firstUploadPause.milliseconds << Int64(failures - 1)
        request = .pausing(until: now + .milliseconds(min(doubled, ClientLimits.longestUploadPause.milliseconds)))
    }
}
