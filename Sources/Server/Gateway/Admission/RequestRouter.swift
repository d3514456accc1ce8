import CallCore
import CallPorts
import CallWire
import Crypto
import LibWebSockets
import ServerLog
import SocketIO
import Switchboard
import Threads

/// Decides where an upgrade or a request goes: it checks origin, limits and token, and then either refuses the request
/// or passes it on.
///
/// Every upgrade and every request is checked here before it reaches a call or a session.
///
/// The router has no state except the revocations, the connect limit and whether this node forwards requests, which all
/// loops share. It runs on the thread of every loop, because verifying tokens is the largest cost of a connect.
struct RequestRouter: Sendable {
    let authenticator: any Authenticator
    let revocations = Revocations()
    let connects: ConnectLimit
    let forwarding = Forwarding()
    let originPolicy: OriginPolicy
    /// The number of requests and upgrades that were refused because of their `Origin`.
    let refusedOrigins = Monitor<UInt64>(0)
    let refusedRequests = RefusedRequests()
    /// The clock against which tokens and capabilities are checked.
    let clock: ServerClock
    let log: ServerLog
    private let audit: @Sendable (AuditEvent) -> Void
    /// Returns the response to a request for a page; see ``GatewayConfiguration/page``.
    let page: (@Sendable (RequestHead) -> Response?)?
    let frontPage: FrontPage
    /// How long a callee is rung if an offer over HTTP contains no ring time.
    let ringTimeout: Moment.Duration

    init(_ configuration: GatewayConfiguration, authenticator: any Authenticator, log: ServerLog = .silent) {
        self.authenticator = authenticator
        self.log = log
        connects = ConnectLimit(perMinute: configuration.policy.connectsPerMinute)
        originPolicy = OriginPolicy(allowing: configuration.allowedOrigins)
        clock = configuration.clock
        ringTimeout = configuration.policy.ringTimeout
        audit = configuration.audit
        page = configuration.page
        frontPage = FrontPage(version: configuration.version)
    }

    /// The result of those checks of an upgrade for which no Socket.IO session is needed.
    enum Upgrade {
        case decided(UpgradeDecision)
        case connection(Admission, subprotocol: String?)
        case socketIO(EngineHandshake)
    }

    /// Checks the upgrade of a browser or an app: its origin, its token and its device id.
    func checkUpgrade(_ upgrade: RequestHead, as socket: SocketID) -> Upgrade {
        guard originPolicy.isAllowed(origin: upgrade.origin, host: upgrade.host) else {
            let error = WireError(.forbidden, "this Origin is not allowed")
            noteRefusedOrigin(of: upgrade)
            logRefused(upgrade, as: socket, error)
            return .decided(.refuse(response(to: error, for: nil)))
        }
        if Gateway.socketIOPaths.contains(upgrade.path) {
            do throws(EngineRefusal) {
                let handshake = try handshake(upgrade, transport: "websocket")
                if let refusal = connectRefusal(of: handshake) {
                    logRefused(upgrade, as: socket, refusal)
                    return .decided(.refuse(response(to: refusal, for: nil)))
                }
                return .socketIO(handshake)
            } catch {
                logRefused(upgrade, as: socket, error)
                return .decided(.refuse(response(to: error, for: nil)))
            }
        }
        let offersVersion = upgrade.protocols.contains(Self.subprotocol)
        let subprotocol = offersVersion ? Self.subprotocol : nil
        let offered = upgrade.protocols.first { $0.hasPrefix(Self.bearerPrefix) }
        do throws(WireError) {
            let device = try upgrade.device()
            let principal = try admit(upgrade, offered: offered.map { String($0.dropFirst(Self.bearerPrefix.count)) })
            if let refusal = connects.refusal(of: principal, at: now) { throw refusal }
            return .connection(Admission(principal: principal, device: device), subprotocol: subprotocol)
        } catch {
            logRefused(upgrade, as: socket, error)
            // A browser's script cannot see the status of a refused upgrade. So the upgrade is accepted, and the
            // WebSocket is then closed with the reason.
            if offered != nil, error.code == .unauthenticated || error.code == .tokenExpired {
                return .decided(.acceptThenClose(code: 4401, reason: error.message, subprotocol: subprotocol))
            }
            return .decided(.refuse(response(to: error, for: nil)))
        }
    }

    /// Returns why a new Socket.IO session is refused, or `nil` if it may begin.
    func connectRefusal(of handshake: EngineHandshake) -> WireError? {
        guard case .new(let beginning) = handshake, let principal = beginning.principal else { return nil }
        return connects.refusal(of: principal, at: now)
    }

    var now: Moment { Moment(milliseconds: clock.now()) }

    private static let subprotocol = "ringline.v1"
    private static let bearerPrefix = "bearer."

    private func admit(_ upgrade: RequestHead, offered: String?) throws(WireError) -> Principal {
        if let header = upgrade.authorization { return try admit(authorization: header) }
        guard let token = offered ?? upgrade.parameter("token") else {
            throw WireError(
                .unauthenticated,
                "token missing: send Authorization: Bearer, subprotocol bearer.<JWT> or ?token="
            )
        }
        return try admit(token)
    }

    /// Verifies a token at the current time, and returns the identity that it proves.
    func admit(_ token: String) throws(WireError) -> Principal {
        let (now, date) = clock.nowAndDate()
        var principal: Principal
        do throws(AuthenticationError) {
            principal = try authenticator.authenticate(token, atSeconds: date / 1_000)
        } catch {
            throw WireError(error)
        }
        if now != date {
            // A token's dates follow the wall clock. The times derived from them - the end of the connection, a
            // revocation - are counted by the server's clock.
            principal.expiresAt = principal.expiresAt.map { $0 + .milliseconds(now - date) }
            principal.issuedAt = principal.issuedAt.map { $0 + .milliseconds(now - date) }
        }
        guard !revocations.covers(principal) else {
            audit(.tokenRefused(cause: "revoked", principal.user))
            log.debug("a token was refused", [.tokenCause(ServerText("revoked")), .user(principal.user)])
            throw Switchboard.revokedToken
        }
        return principal
    }

    /// Verifies the token in an `Authorization` header, and returns the identity that it proves.
    func admit(authorization: String?) throws(WireError) -> Principal {
        guard let authorization else { throw WireError(.unauthenticated, "token missing: send Authorization: Bearer") }
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw WireError(.unauthenticated, "Authorization must be Bearer and a token, separated by a space")
        }
        return try admit(String(words[1]))
    }
}

/// The verified user and device of a connection, before it is opened.
struct Admission: Sendable {
    let principal: Principal
    let device: DeviceID?
}

extension WireError {
    /// Returns the refusal of a token or of a capability, as the client receives it.
    init(_ error: AuthenticationError) {
        switch error {
        case .invalid(let message): self.init(.unauthenticated, message)
        case .expired(let message): self.init(.tokenExpired, message)
        case .keysUnavailable(let message): self.init(.keysUnavailable, message)
        }
    }
}

extension RequestHead {
    /// Returns the device that the query parameter `device` names.
    func device() throws(WireError) -> DeviceID? {
        guard let text = parameter("device") else { return nil }
        guard let device = DeviceID(text) else {
            throw WireError(
                .invalidField,
                "device: must be \(CallCore.Limits.identifierForm)",
                field: "device"
            )
        }
        return device
    }

    /// The `Authorization` header, or the query parameter that replaces it where a client cannot set headers.
    var bearer: String? { authorization ?? parameter("token").map { "Bearer \($0)" } }
}
