import CallCore

/// A call as a phone and the world name it.
///
/// Epoch 0: the phone does not know it yet.
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

/// A signal on its way out of a phone, under the name that every resend carries.
struct Outgoing {
    var kind: SignalKind
    var id: String
    var callID: CallID
    var peer: UserID
    /// The epoch it is said in; 0 = left open.
    var epoch: UInt32
    /// The members that belong to the kind, comma between them, no braces.
    var fields: String
    var sentAt: Moment?
    var tries = 0
}

/// What a phone's user wants.
enum Intent {
    case call(CallID, peer: UserID, ringSeconds: Int64?, sdp: Int)
    case answer(CallName, sdp: Int)
    case end(CallName, reason: EndReason?)
    case say(CallName, SignalKind, fields: String)
}

/// What an app's call core is told.
enum CoreInput {
    case connected
    case disconnected
    case frame(ReadFrame)
    case push([UInt8])
    /// The answer to a signal sent as a request: status and body; status 0 when nothing came.
    case response(id: String, status: Int, body: [UInt8])
    /// The answer to the fetch of that number; status 0 when nothing came.
    case fetched(CallID, number: UInt64, status: Int, body: [UInt8])
    /// The server has closed the socket because the token has expired.
    case tokenExpired
    /// There is a fresh token.
    case tokenRenewed
    case intent(Intent)
    case deadlineReached
}

/// What it asks for.
enum CoreOutput {
    /// Bring a signal to the server, by whichever way is there.
    case transmit(Outgoing)
    /// Write a frame to the socket.
    case send([UInt8])
    /// Make a request of a signal; `capability`: the push's word instead of the token.
    case post(id: String, CallID, [UInt8], capability: String?)
    /// Ask for a call's log; epoch 0 = all of it.
    case fetch(CallID, peer: UserID?, since: UInt64, epoch: UInt32, number: UInt64, capability: String?)
    /// Open a socket.
    case connect
    /// Get a fresh token.
    case renewToken
    case report(Report)
}

/// What it tells the app, the system and the user.
enum Report {
    /// The phone rings (CallKit: reportNewIncomingCall).
    case rang(CallName)
    /// A signal has reached the phone; the app or the engine may get it later.
    case arrived(CallName, Delivery)
    /// A signal is handed to the app, in order, once.
    case delivered(CallName, Delivery)
    /// The server has a signal for good.
    case acknowledged(CallName, seq: UInt64, id: String, kind: SignalKind)
    case refused(CallName, kind: SignalKind, code: String)
    /// The call is between this device and that one.
    case answered(CallName)
    case ended(CallName, EndReason?, Cause, replacedBy: CallID?)
    /// The phone itself has seen an invariant break.
    case broken(String, String)
}

/// How a phone learnt that a call was over.
enum Cause { case told, user, timer, refused, late }

/// A signal as it is handed to an app.
struct Delivery: Hashable {
    var seq: UInt64
    var kind: SignalKind
    var device: String
    var id: String?
}

/// How a call stands for a phone.
struct CoreCall {
    enum Phase {
        case calling, ringing, answering, talking, ended
        /// It crosses a call of this phone, and nothing of it is shown.
        case hushed
    }
    var name: CallName
    var isCaller: Bool
    var phase: Phase
    var reason: EndReason?
    var cause: Cause?
    /// The device that the phone takes for the callee's.
    var answeredBy: String?
}

/// The call logic of one app, alive until it is killed.
protocol PhoneCore: AnyObject {
    func handle(_ input: CoreInput, at now: Moment, into outputs: inout [CoreOutput])
    var deadline: Moment? { get }
    /// Every call it knows, ended ones included.
    var calls: [CoreCall] { get }
}
