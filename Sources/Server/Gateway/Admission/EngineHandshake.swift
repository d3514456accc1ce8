import CallCore
import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// A parsed Engine.IO request or upgrade, with its token verified.
enum EngineHandshake: Sendable {
    /// The handshake names a session; there may be no such session.
    case known(sid: String)
    /// The handshake asks for a new session.
    case new(NewSession)

    /// The parameters of a new session.
    struct NewSession: Sendable {
        let version: EngineVersion
        let credential: SocketSession.Credential
        let principal: Principal?
        let device: DeviceID?
        /// The client's network.
        ///
        /// While the session's user is unknown, the limit on unauthenticated sessions counts the session for this
        /// network.
        let clientNetwork: ClientNetwork
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
        guard let (credential, principal, device) = credential(head) else { throw .badRequest }
        return .new(
            .init(
                version: version,
                credential: credential,
                principal: principal,
                device: device,
                clientNetwork: head.clientNetwork
            )
        )
    }

    /// Returns the credential in a handshake, or `nil` when the handshake names an invalid device id.
    private func credential(_ head: RequestHead) -> (SocketSession.Credential, Principal?, DeviceID?)? {
        let device: DeviceID?
        do throws(WireError) { device = try head.device() } catch { return nil }
        guard head.authorization != nil || head.parameter("token") != nil else { return (.none, nil, device) }
        do throws(WireError) {
            let principal = try admit(authorization: head.bearer)
            return (.valid(.init(user: principal.user, isInteger: principal.userIsInteger)), principal, device)
        } catch {
            return (.refused(error), nil, device)
        }
    }
}
