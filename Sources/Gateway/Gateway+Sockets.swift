import CallCore
import CallWire
public import LibWebSockets
import SocketIO
import Switchboard

/// What was found out about a connection before it was opened.
struct Admission {
    let who: Who
    let device: DeviceID?
}

extension Gateway: ServerDelegate {
    /// Lets a browser or an app in: its origin, its token, its device's name.
    public func admit(_ upgrade: RequestHead, as connection: ConnectionID) -> UpgradeDecision {
        guard isAllowed(origin: upgrade.origin, host: upgrade.host) else {
            return .refuse(response(to: WireError(.forbidden, "this Origin may not connect"), for: nil))
        }
        if Self.socketIOPaths.contains(upgrade.path) { return admitSocketIO(upgrade, as: connection) }
        let offersVersion = upgrade.protocols.contains(Self.subprotocol)
        let subprotocol = offersVersion ? Self.subprotocol : nil
        let offered = upgrade.protocols.first { $0.hasPrefix(Self.bearerPrefix) }
        do throws(WireError) {
            let device = try upgrade.device()
            let who = try admit(upgrade, offered: offered.map { String($0.dropFirst(Self.bearerPrefix.count)) })
            admitted[connection] = Admission(who: who, device: device)
            return .accept(subprotocol: subprotocol)
        } catch {
            // A browser cannot see the status of a refused upgrade, so it is let in and told why.
            if offered != nil, error.code == .unauthenticated || error.code == .tokenExpired {
                return .acceptThenClose(code: 4401, reason: error.message, subprotocol: subprotocol)
            }
            return .refuse(response(to: error, for: nil))
        }
    }

    static let subprotocol = "ringline.v1"
    private static let bearerPrefix = "bearer."

    private func admit(_ upgrade: RequestHead, offered: String?) throws(WireError) -> Who {
        if let header = upgrade.authorization { return try admit(authorization: header) }
        guard let token = offered ?? upgrade.parameter("token") else {
            throw WireError(
                .unauthenticated,
                "a token is needed: Authorization: Bearer, subprotocol bearer.<JWT> or ?token="
            )
        }
        return try bouncer.admit(token, atSeconds: Int64(Server.wallClockMilliseconds() / 1_000))
    }

    /// Whom an `Authorization` header stands for.
    func admit(authorization: String?) throws(WireError) -> Who {
        guard let authorization else { throw WireError(.unauthenticated, "a token is needed: Authorization: Bearer") }
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw WireError(.unauthenticated, "Authorization must be Bearer and a token")
        }
        return try bouncer.admit(String(words[1]), atSeconds: Int64(Server.wallClockMilliseconds() / 1_000))
    }

    /// Whether a page of this origin may talk to us: by default only one from the same host.
    func isAllowed(origin: String?, host: String?) -> Bool {
        guard let origin else { return true }
        if configuration.allowedOrigins.contains("*") || configuration.allowedOrigins.contains(origin) { return true }
        guard let host, let slash = origin.lastIndex(of: "/") else { return false }
        return origin[origin.index(after: slash)...].lowercased() == host.lowercased()
    }

    /// A connection is open: from now on it is a session.
    public func opened(_ connection: ConnectionID) {
        if openedSocketIO(connection) { return }
        guard let admission = admitted.removeValue(forKey: connection) else { return }
        feed(.opened(SessionID(rawValue: connection.rawValue), admission.who, device: admission.device))
    }

    /// A whole text message came.
    public func received(_ message: RawSpan, on connection: ConnectionID) {
        if let engine = engines.byConnection[connection] {
            handle(.socketReceived(message.withUnsafeBytes { Array($0) }), engine)
            return
        }
        // By the time this returns nobody has it any more, but for a message that has to wait its turn.
        var bytes: [UInt8] = []
        swap(&bytes, &received)
        message.withUnsafeBytes { bytes.append(contentsOf: $0) }
        feed(.received(SessionID(rawValue: connection.rawValue), bytes))
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptBytes)
        swap(&bytes, &received)
    }

    /// How large a message's memory may be to be kept for the next one.
    private static let keptBytes = 16_384

    /// A pong came.
    public func receivedPong(on connection: ConnectionID) {
        if let engine = engines.byConnection[connection] {
            handle(.socketPonged, engine)
            return
        }
        feed(.ponged(SessionID(rawValue: connection.rawValue)))
    }

    /// A connection is gone.
    public func closed(_ connection: ConnectionID, code: UInt16?) {
        if closedSocketIO(connection) { return }
        admitted[connection] = nil
        feed(.closed(SessionID(rawValue: connection.rawValue)))
    }

    /// The timer that was set has run out.
    public func timerFired() { timerDue() }

    /// All that was ready has been handed in.
    public func loopTurned() { turn() }
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
}
