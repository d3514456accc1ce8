import CallCore
import CallPorts
import CallWire
import DequeModule

/// One connection of a device.
final class Connection {
    let id: SocketID
    /// The verified identity of the client; renewed by `auth`.
    var principal: Principal { didSet { madeSource = nil } }
    /// The device, with the newest token that it presented.
    var device: DeviceIdentity { didSet { madeSource = nil } }
    /// Whether the client named the device; otherwise the server made the device's id, from the token or for this
    /// connection.
    let isNamed: Bool
    /// When anything was last received from the client.
    var heardAt: Moment
    /// When the connection was last pinged.
    var pingedAt: Moment
    /// Since when a sign of life is awaited, because of a call or a text; `nil` = none is awaited.
    var probedAt: Moment?
    /// When the connection was opened.
    let openedAt: Moment
    /// The code with which the server has closed the connection, recorded only while closes are logged; otherwise
    /// `nil`.
    var closedWith: UInt16?
    /// The moment of the connection's next check-up timer in the heap; `nil` = no timer is set.
    var scheduledAt: Moment?
    /// The number of the last ping that was sent; pings are numbered from 1, or, after an adoption, from a number that
    /// no earlier owner has used.
    var pings: UInt64 = 0
    /// Whether an earlier owner of the calls had opened the connection.
    var isAdopted = false
    /// The calls whose end was written to the connection, each with the number of the ping whose pong will confirm it.
    var unconfirmedEnds: [(call: CallNumber, side: Side, ping: UInt64)] = []
    /// Whether the connection still awaits the presence of its user's contacts, because the store could not be read for
    /// them.
    var awaitsContacts = false
    /// Whether the device may have to be notified of ended calls at rest that were not loaded for it yet.
    var hasUnreadEnds = false
    /// The calls at rest that were loaded to notify this device of their ends, if they are too many to be loaded at once.
    var endsRead: Set<CallNumber> = []
    /// The texts that were written to the connection, each with the number of the ping whose pong will confirm it.
    var texts: [(text: RelayedText, ping: UInt64)] = []
    /// The bytes written to the connection that may still be on their way.
    var backlog = Backlog()
    /// Whether ``backlog`` is over the policy's limit.
    var isBacklogged = false
    /// The logs and frames that the connection is still to be sent, in order.
    var replays = Deque<Replay>()
    /// The users whose presence the connection watches.
    var watched: Set<UserID> = []
    /// The calls whose timeline events the connection is sent; `nil` = none.
    var watch: TimelineWatch?
    /// The number of watches that the client has begun.
    var watchesBegun: UInt64 = 0
    /// Whether the client is one without a cursor: it does not remember its place in a log, and so must not be sent any
    /// entry twice.
    let isStateless: Bool
    /// The rooms in which the connection is present, each with the name that the client used: a pair's room can be
    /// written in two ways.
    var rooms: [RoomKey: String] = [:]
    /// The rate limit of the client's frames.
    var bucket: TokenBucket
    /// The number of signs of life, other than frames, since the last ping.
    var signsOfLife = 0
    /// The number of frames refused for exceeding the rate.
    var refusedFrames = 0
    /// The number of frames in a row that were not JSON.
    var badFrames = 0
    /// Whether the client has renewed its token on this connection.
    var hasRenewedToken = false
    /// The number of frames that are being handled beyond their turn.
    var pendingFrames = 0
    private var madeSource: Source?
    /// Whether the last ``Switchboard/Output/bound(_:_:)`` said that the connection is bound.
    var isBound = false

    init(
        id: SocketID,
        principal: Principal,
        device: DeviceIdentity,
        isNamed: Bool,
        isStateless: Bool,
        bucket: TokenBucket,
        openFor: Moment.Duration = .milliseconds(0),
        at now: Moment
    ) {
        self.id = id
        self.principal = principal
        self.device = device
        self.isNamed = isNamed
        self.isStateless = isStateless
        self.bucket = bucket
        heardAt = now
        pingedAt = now
        openedAt = now - openFor
    }

    var user: UserID { principal.user }

    /// The sender of this connection's signals, made when it sends the first one, or the first one with another token.
    var source: Source {
        if let madeSource { return madeSource }
        let made = Source(
            user: user,
            device: device,
            sender: Sender(user, device.id),
            name: principal.name,
            transport: .connection,
            isService: principal.isService,
            claims: principal.claims
        )
        madeSource = made
        return made
    }

    /// Records that the end of a call was written to the connection: the pong to the next ping will confirm that it
    /// arrived.
    ///
    /// Written does not mean received: the TCP connection may be half open. Until the pong, the device is notified
    /// again whenever it reconnects.
    func awaitEndConfirmation(of call: Call, _ side: Side) {
        unconfirmedEnds.append((call.number, side, pings + 1))
        // Only a client that sends frames but answers no ping exceeds this limit. The removal has one effect: when the
        // device reconnects, it is notified of that end again.
        if unconfirmedEnds.count > SwitchboardLimits.unconfirmed { unconfirmedEnds.removeFirst() }
    }

    /// Whether a call's log is still being replayed to the connection.
    func replays(_ call: CallNumber) -> Bool { !replays.isEmpty && replays.contains { $0.call == call } }
}
