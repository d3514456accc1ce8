import CallCore
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// What a request or upgrade of Engine.IO's says, understood and its token checked.
enum EngineKnock: Sendable {
    /// It belongs to a session, it says.
    case known(sid: String)
    /// It is to begin one.
    case new(Beginning)

    /// A session that is to begin.
    struct Beginning: Sendable {
        let version: EngineVersion
        let credential: SocketSession.Credential
        let who: Who?
        let device: DeviceID?
        /// The address whose share it uses until its user is known.
        let share: AddressShare
    }
}

extension Doorkeeper {
    func knock(_ head: RequestHead, transport: String) throws(EngineRefusal) -> EngineKnock {
        guard let version = EngineVersion(parameter: head.parameter("EIO")) else { throw .unsupportedVersion }
        switch head.parameter("transport") {
        case transport: break
        case "polling", "websocket": throw .badRequest
        default: throw .transportUnknown
        }
        if transport == "polling" {
            // Answers as scripts are for browsers of another time.
            guard head.parameter("j") == nil, head.method == "GET" || head.method == "POST" else { throw .badRequest }
        }
        if let sid = head.parameter("sid") { return .known(sid: sid) }
        guard head.method == "GET" else { throw .badHandshakeMethod }
        guard let (credential, who, device) = credential(head) else { throw .badRequest }
        return .new(
            .init(version: version, credential: credential, who: who, device: device, share: head.share)
        )
    }

    /// What a handshake says of who it is; `nil` when it names a device that cannot be.
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
