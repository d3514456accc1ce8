import CallCore
import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// A parsed Engine.IO request or upgrade, with its token verified.
enum EngineHandshake: Sendable {
    /// The handshake names a session, which may not exist.
    case known(sid: String)
    /// The handshake asks for a new session.
    case new(Beginning)

    /// The parameters of a new session.
    struct Beginning: Sendable {
        let version: EngineVersion
        let credential: SocketSession.Credential
        let who: Who?
        let device: DeviceID?
        /// The address whose share the session uses until its user is known.
        let share: AddressShare
    }
}

extension RequestRouter {
    func handshake(_ head: RequestHead, transport: String) throws(EngineRefusal) -> EngineHandshake {
        guard let version = EngineVersion(parameter: head.parameter("EIO")) else { throw .unsupportedVersion }
        switch head.parameter("transport") {
        case transport: break
        case "polling", "websocket": throw .badRequest
        default: throw .transportUnknown
        }
        if transport == "polling" {
            // JSONP, in which responses are scripts, was for browsers that are no longer in use.
            guard head.parameter("j") == nil, head.method == "GET" || head.method == "POST" else { throw .badRequest }
        }
        if let sid = head.parameter("sid") { return .known(sid: sid) }
        guard head.method == "GET" else { throw .badHandshakeMethod }
        guard let (credential, who, device) = credential(head) else { throw .badRequest }
        return .new(
            .init(version: version, credential: credential, who: who, device: device, share: head.share)
        )
    }

    /// Returns the credential in a handshake, or `nil` when the handshake names an invalid device id.
    private func credential(_ head: RequestHead) -> (SocketSession.Credential, Who?, DeviceID?)? {
        let device: DeviceID?
        do throws(WireError) { device = try head.device() } catch { return nil }
        guard head.authorization != nil || head.parameter("token") != nil else { return (.none, nil, device) }
        do throws(WireError) {
            let who = try admit(authorization: head.bearer)
            return (.valid(.init(user: who.user, isInteger: who.userIsInteger)), who, device)
        } catch {
            return (.refused(error), nil, device)
        }
    }
}
