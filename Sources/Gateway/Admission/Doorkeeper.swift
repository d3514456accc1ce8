import CallCore
import CallWire
import Crypto
import LibWebSockets
import SocketIO
import Switchboard
import Threads

/// Whoever looks at who comes, before anybody's state does: origin, address, token.
///
/// It keeps nothing and is asked on every loop's thread: checking tokens is what a connect costs most.
struct Doorkeeper: Sendable {
    let bouncer: any Bouncer
    let revocations = Revocations()
    let connects: ConnectLimit
    private let allowedOrigins: Set<String>
    /// What tokens and capabilities are checked by.
    let clock: ServerClock
    private let audit: @Sendable (AuditEvent) -> Void
    /// For how long a callee is rung when a posted offer does not say.
    let ringFor: Moment.Span

    init(_ configuration: GatewayConfiguration, bouncer: any Bouncer) {
        self.bouncer = bouncer
        connects = ConnectLimit(perMinute: configuration.policy.connectsPerMinute)
        allowedOrigins = configuration.allowedOrigins
        clock = configuration.clock
        ringFor = configuration.policy.ringFor
        audit = configuration.audit
    }

    /// What becomes of an upgrade, as far as it can be said without knowing the sessions.
    enum Upgrade {
        case decided(UpgradeDecision)
        case session(Admission, subprotocol: String?)
        case engine(EngineKnock)
    }

    /// Lets a browser or an app in: its origin, its token, its device's name.
    func look(at upgrade: RequestHead) -> Upgrade {
        guard isAllowed(origin: upgrade.origin, host: upgrade.host) else {
            return .decided(.refuse(response(to: WireError(.forbidden, "this Origin may not connect"), for: nil)))
        }
        if Gateway.socketIOPaths.contains(upgrade.path) {
            do throws(EngineRefusal) {
                let knock = try knock(upgrade, transport: "websocket")
                if let refusal = connectRefusal(of: knock) {
                    return .decided(.refuse(response(to: refusal, for: nil)))
                }
                return .engine(knock)
            } catch {
                return .decided(.refuse(response(to: error, for: nil)))
            }
        }
        let offersVersion = upgrade.protocols.contains(Self.subprotocol)
        let subprotocol = offersVersion ? Self.subprotocol : nil
        let offered = upgrade.protocols.first { $0.hasPrefix(Self.bearerPrefix) }
        do throws(WireError) {
            let device = try upgrade.device()
            let who = try admit(upgrade, offered: offered.map { String($0.dropFirst(Self.bearerPrefix.count)) })
            if let refusal = connects.refusal(of: who, at: now) { throw refusal }
            return .session(Admission(who: who, device: device), subprotocol: subprotocol)
        } catch {
            // A browser cannot see the status of a refused upgrade, so it is let in and told why.
            if offered != nil, error.code == .unauthenticated || error.code == .tokenExpired {
                return .decided(.acceptThenClose(code: 4401, reason: error.message, subprotocol: subprotocol))
            }
            return .decided(.refuse(response(to: error, for: nil)))
        }
    }

    /// Why a new Socket.IO session is refused; `nil` = it may begin.
    func connectRefusal(of knock: EngineKnock) -> WireError? {
        guard case .new(let beginning) = knock, let who = beginning.who else { return nil }
        return connects.refusal(of: who, at: now)
    }

    private var now: Moment { Moment(milliseconds: clock.now()) }

    private static let subprotocol = "ringline.v1"
    private static let bearerPrefix = "bearer."

    private func admit(_ upgrade: RequestHead, offered: String?) throws(WireError) -> Who {
        if let header = upgrade.authorization { return try admit(authorization: header) }
        guard let token = offered ?? upgrade.parameter("token") else {
            throw WireError(
                .unauthenticated,
                "a token is needed: Authorization: Bearer, subprotocol bearer.<JWT> or ?token="
            )
        }
        return try admit(token)
    }

    /// Who bears a token, now.
    func admit(_ token: String) throws(WireError) -> Who {
        let (now, date) = clock.nowAndDate()
        var who = try bouncer.admit(token, atSeconds: date / 1_000)
        if now != date {
            // A token has dates; what follows from them - the session's end, a log-out - is counted in the server's time.
            who.expiresAt = who.expiresAt.map { $0 + .milliseconds(now - date) }
            who.issuedAt = who.issuedAt.map { $0 + .milliseconds(now - date) }
        }
        guard !revocations.covers(who) else {
            audit(.tokenRefused(cause: "revoked", who.user))
            throw Switchboard.revokedToken
        }
        return who
    }

    /// Whom an `Authorization` header stands for.
    func admit(authorization: String?) throws(WireError) -> Who {
        guard let authorization else { throw WireError(.unauthenticated, "a token is needed: Authorization: Bearer") }
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw WireError(.unauthenticated, "Authorization must be Bearer and a token")
        }
        return try admit(String(words[1]))
    }

    /// Whether a page of this origin may talk to us: by default only one from the same host.
    func isAllowed(origin: String?, host: String?) -> Bool {
        guard let origin else { return true }
        if allowedOrigins.contains("*") || allowedOrigins.contains(origin) { return true }
        guard let host, let slash = origin.lastIndex(of: "/") else { return false }
        return origin[origin.index(after: slash)...].lowercased() == host.lowercased()
    }
}

/// What was found out about a connection before it was opened.
struct Admission: Sendable {
    let who: Who
    let device: DeviceID?
}

extension RequestHead {
    /// The device that the address names.
    func device() throws(WireError) -> DeviceID? {
        guard let text = parameter("device") else { return nil }
        guard let device = DeviceID(text) else {
            throw WireError(
                .invalidField,
                "device: must be 1 to 128 of A–Z a–z 0–9 . _ @ : + -",
                field: "device"
            )
        }
        return device
    }

    /// The header, or what stands for it in the address where a client cannot set headers.
    var bearer: String? { authorization ?? parameter("token").map { "Bearer \($0)" } }
}
