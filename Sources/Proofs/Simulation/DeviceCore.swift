import CallCore
import CallWire

/// The name of a call for a simulated device and for the world.
///
/// Epoch 0: the device does not know the epoch yet.
struct CallName: Hashable, Comparable, CustomStringConvertible {
    var id: CallID
    var pair: Pair
    var epoch: UInt32

    var key: CallKey { CallKey(id: id, pair: pair) }
    var description: String { "\(id.text)/\(epoch)" }

    static func < (a: Self, b: Self) -> Bool {
        if a.id != b.id { return a.id < b.id }
        if a.pair != b.pair { return (a.pair.low, a.pair.high) < (b.pair.low, b.pair.high) }
        return a.epoch < b.epoch
    }
}

/// A signal that a device sends, with the id that every resend repeats.
struct Outgoing {
    var kind: SignalKind
    var id: String
    var callID: CallID
    var peer: UserID
    /// The epoch that the signal names; 0 = none.
    var epoch: UInt32
    /// The members of the signal's kind, separated by commas, without braces.
    var fields: String
    var sentAt: Moment?
    var tries = 0
    /// The number of tries that named no epoch and have not been refused.
    var unqualifiedTries = 0
    /// Whether the server has refused the newest try for the time being.
    var isPutOff = false
}

/// An intent of a device's user.
enum Intent {
    case call(CallID, peer: UserID, ringSeconds: Int64?, sdp: Int)
    case answer(CallName, sdp: Int)
    case end(CallName, reason: EndReason?)
    case send(CallName, SignalKind, fields: String)
}

/// An input of an app's call logic.
enum CoreInput {
    case connected
    case disconnected
    case frame(ParsedFrame)
    case push([UInt8])
    /// The response to a signal that was sent as a request; status 0 when there was no response.
    case response(id: String, status: Int, body: [UInt8])
    /// The response to the fetch with this number; status 0 when there was no response.
    case fetched(CallID, number: UInt64, status: Int, body: [UInt8])
    /// The server closed the socket because the token has expired.
    case tokenExpired
    /// The token was renewed.
    case tokenRenewed
    case intent(Intent)
    case deadlineReached

    // For a real app, whose attempts to connect and whose registration its own state machines decide about.
    /// The app comes to the foreground, or leaves it.
    case inUse(Bool)
    /// The app wants a connection because it was started.
    case wantsConnection
    /// The server has sent `welcome` on the socket of this attempt to connect.
    case attemptOpened(UInt64)
    /// This attempt to connect has failed, or its socket was closed.
    case attemptClosed(UInt64)
    /// The device's path to the network has changed.
    case pathChanged
    /// The push tokens that the device has; `nil` = the system took the token back.
    case tokens(PushTable<PushToken>)
    /// The user has logged in or out.
    case login(Bool)
    /// The response to this request for the registration; status 0 when there was no response.
    case registered(UInt64, status: Int, body: [UInt8])
}

/// An output of an app's call logic.
enum CoreOutput {
    /// Send a signal to the server, by any available transport.
    case transmit(Outgoing)
    /// Write a frame to the socket.
    case send([UInt8])
    /// Send a signal as a request. `capability`: the push's capability, used instead of the bearer token.
    case post(id: String, CallID, [UInt8], capability: String?)
    /// Fetch a call's log; epoch 0 = all of it.
    case fetch(CallID, peer: UserID?, since: UInt64, epoch: UInt32, number: UInt64, capability: String?)
    /// Open the socket of this attempt to connect.
    case open(UInt64)
    /// The app has given up the socket of this attempt to connect.
    case giveUp(UInt64)
    /// Upload the push tokens with this body, or remove the device's row (`nil`).
    case register(UInt64, [UInt8]?)
    /// Get a new token.
    case renewToken
    case report(Report)
}

/// A report of the call logic to the app, the system and the user.
enum Report {
    /// The device rings (CallKit: reportNewIncomingCall).
    case rang(CallName)
    /// The system does not show the call, and the app tells the server so.
    case silenced(CallName)
    /// A signal has reached the device; the app or the engine may get it later.
    case arrived(CallName, Delivery)
    /// A signal is passed to the app, in order and once.
    case delivered(CallName, Delivery)
    /// The server has acknowledged a signal, which is durable from then on.
    case acknowledged(CallName, seq: UInt64, id: String, kind: SignalKind)
    case refused(CallName, kind: SignalKind, code: String)
    /// The call was answered, and this device is in it.
    case answered(CallName)
    case ended(CallName, EndReason?, Cause, replacedBy: CallID?)
    /// The device itself has found a broken invariant.
    case broken(String, String)
}

/// How a device learned that a call was over.
///
/// `told`: from the server. `user`: its own user ended the call. `timer`: its own timer. `refused`: the server refused
/// a signal or a fetch. `late`: the app learned of the call too late to take part.
enum Cause { case told, user, timer, refused, late }

/// A signal as it is passed to an app.
struct Delivery: Hashable {
    var seq: UInt64
    var kind: SignalKind
    var device: String
    var id: String?
}

/// A call as a device sees it.
struct CoreCall {
    enum Phase {
        case calling, ringing, answering, talking, ended
        /// The device shows nothing of this call, because its own call to the same user rings at the same time (glare).
        case hiddenByOutgoingCall
    }
    var name: CallName
    var isCaller: Bool
    var phase: Phase
    var reason: EndReason?
    var cause: Cause?
    /// The callee's device in the call, as far as this device knows.
    var answeredBy: String?
}

/// The call logic of one app, which exists until the app is killed.
protocol DeviceCore: AnyObject {
    func handle(_ input: CoreInput, at now: Moment, into outputs: inout [CoreOutput])
    var deadline: Moment? { get }
    /// All calls that the app knows, including ended ones.
    var calls: [CoreCall] { get }
}
