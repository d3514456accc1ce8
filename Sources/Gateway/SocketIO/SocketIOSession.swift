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
    let id: SessionID
    /// The device that the query of the handshake names.
    let device: DeviceID?
    /// The bearer of the token that was verified last.
    var who: Who?
    /// The user for whom the session counts until it joins; `nil` if it is unauthenticated and counts for `share`.
    let guarantor: UserID?
    /// The share of the client's address.
    let share: AddressShare
    /// The session's WebSocket, once it has one.
    var connection: ConnectionID? {
        didSet { index?.note(machine.sid, hasSocket: connection != nil) }
    }
    /// The index in which all loops look the session up; `nil` once the session is over.
    var index: SessionIndex?
    /// Whether the switchboard was notified of the session.
    var isJoined = false
    /// The key under which its cursors are remembered.
    var place: Places.Key?
    var needsTurn = false

    init(_ machine: SocketSession, id: SessionID, _ beginning: EngineHandshake.Beginning) {
        self.machine = machine
        self.id = id
        who = beginning.who
        device = beginning.device
        guarantor = beginning.who?.user
        share = beginning.share
    }
}

/// The reason why an unauthenticated session was closed.
enum DroppedStrangers: String, CaseIterable {
    /// Another session needed its place.
    case crowded = "socketio"
    /// Places were short, and the session took too long to authenticate.
    case late = "socketio_slow"
}
