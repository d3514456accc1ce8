import CallCore
import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// One Socket.IO session: its state machine, and the objects that it is attached to.
final class SocketIOSession {
    /// The machine that decides for the session.
    var machine: SocketSession
    /// The switchboard's id of the session.
    let id: SocketID
    /// The device that the query of the handshake names.
    let device: DeviceID?
    /// The identity in the token that was verified last; `nil` if no token was verified.
    var principal: Principal?
    /// The user for whom the session counts until it joins; `nil` if it is unauthenticated and counts for
    /// `clientNetwork`.
    let countedUser: UserID?
    /// The client's network.
    let clientNetwork: ClientNetwork
    /// The session's WebSocket, once it has one.
    var socket: SocketID? {
        didSet { index?.note(machine.sid, hasSocket: socket != nil) }
    }
    /// The index in which all loops look the session up; `nil` once the session is over.
    var index: SessionIndex?
    /// Whether the session has joined: the switchboard knows it as a connection of its user.
    var isJoined = false
    /// The key under which the session's cursors are remembered; `nil` until it joins.
    var cursorKey: ReplayCursors.Key?
    var needsTurnEnd = false

    init(_ machine: SocketSession, id: SocketID, _ beginning: EngineHandshake.NewSession) {
        self.machine = machine
        self.id = id
        principal = beginning.principal
        device = beginning.device
        countedUser = beginning.principal?.user
        clientNetwork = beginning.clientNetwork
    }
}

/// The reason why an unauthenticated session was closed.
enum DroppedUnauthenticatedSession: String, CaseIterable {
    /// There were too many unauthenticated sessions, and a new session needed the place.
    case tooMany = "socketio"
    /// More than half of the places for unauthenticated sessions were taken, and the session took too long to
    /// authenticate.
    case late = "socketio_slow"
}
