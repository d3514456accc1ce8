import CallCore
import Switchboard

/// One phone of a user: power, network, token, and the app on it.
final class Handset {
    enum Power { case foreground, suspended, killed }

    let index: Int
    let user: UserID
    let device: DeviceID
    let mark: TokenMark
    /// How far its clock is off, in milliseconds.
    let skew: Int64
    /// Whether it has no socket and asks by requests alone.
    let isPoller: Bool
    let environment: APNsEnvironment

    /// Whether its app is built on the real client core, not on the model.
    let isRealApp: Bool

    var power = Power.killed
    var core: (any PhoneCore)?
    /// Counts the starts of its app.
    var instance = 0
    /// The socket that it believes to have.
    var link: Int?
    var isConnecting = false
    var offlineUntil: Int64 = 0
    /// The token it has now, and those it had, each with the moment of its end.
    var token: String
    var oldTokens: [(token: String, until: Int64)] = []
    var tokenCount = 0
    /// Whether the server takes its bearer token no longer.
    var hasExpiredToken = false
    /// When it was last sure to have heard the server.
    var heardAt: Int64 = 0
    /// For when the world has planned to wake its core.
    var wakesAt: Int64?
    var backoff: Int64 = 200
    /// Until when a server that shut down wants it to stay away.
    var returnsAt: Int64 = 0
    /// The turn of the poll that goes on for each call.
    var pollTurns: [CallKey: Int] = [:]
    /// The entry of each call that it was shown last, and when.
    var lastShown: [CallName: (seq: UInt64, at: Int64)] = [:]
    /// What its app was handed, by call, since the app started.
    var delivered: [CallName: Deliveries] = [:]

    init(
        index: Int,
        user: UserID,
        device: DeviceID,
        mark: TokenMark,
        skew: Int64,
        isPoller: Bool,
        isRealApp: Bool,
        environment: APNsEnvironment
    ) {
        self.index = index
        self.user = user
        self.device = device
        self.mark = mark
        self.skew = skew
        self.isPoller = isPoller
        self.isRealApp = isRealApp
        self.environment = environment
        token = "\(device.text)0"
    }

    var who: Who { Who(user: user, mark: mark) }
}

/// What one app was handed of one call.
struct Deliveries {
    var lastSeq: UInt64 = 0
    var names: Set<String> = []
    var seqs: Set<UInt64> = []
    /// Those that have reached the phone, handed on or not.
    var arrived: Set<String> = []
    var arrivedSeqs: Set<UInt64> = []
    var described: Set<String> = []
    /// The callee.
    ///
    /// After a crash another call can have the same callId and epoch, in the other direction.
    var callee: UserID?

    mutating func begin(for callee: UserID) {
        guard self.callee != callee else { return }
        if self.callee != nil { (lastSeq, names, seqs, described) = (0, [], [], []) }
        self.callee = callee
    }
}

/// One connection, seen from both ends.
struct Link {
    let handset: Int
    let instance: Int
    /// In which life of the server it was opened.
    let run: Int
    var isOpenAtServer = false
    var isOpenAtPhone = true
    /// Nothing gets through any more, and nobody was told.
    var isHalfOpen = false
    var openedAt: Int64
    /// When the server last sent it a ping.
    var pingedAt: Int64 = 0
    /// When the server last heard from it.
    var heardAt: Int64 = 0
    /// No message overtakes another on one socket.
    var upUntil: Int64 = 0
    var downUntil: Int64 = 0
    /// Until when it takes little, and how many bytes a second.
    var slow: (until: Int64, bytesPerSecond: Int64)?
    /// When the server closed it; what is on its way still arrives.
    var isClosing = false
}

/// What happens in a world.
enum Event {
    case serverTimer(run: Int)
    case flush(run: Int)
    case opens(link: Int)
    case up(link: Int, [UInt8])
    case down(link: Int, ReadFrame)
    case pingDown(link: Int, number: UInt64)
    case pongUp(link: Int, number: UInt64)
    case closeUp(link: Int)
    case closeDown(link: Int, code: UInt16)
    case request(Int)
    case response(Int, status: Int, body: [UInt8])
    case timeout(Int)
    case tokenRenewed(handset: Int, instance: Int)
    case tokenExpires(handset: Int)
    case committed(run: Int)
    indirect case storeReport(run: Int, StoreReport)
    indirect case pushArrives(run: Int, PushOrder)
    indirect case pushResult(run: Int, PushID, PushResult)
    indirect case pushDelivered(handset: Int, payload: [UInt8])
    case core(handset: Int)
    case connect(handset: Int)
    indirect case poll(handset: Int, instance: Int, CallName, since: UInt64, turn: Int)
    indirect case intent(handset: Int, instance: Int, Intent)
    case script(Int)
    case chaos(Faults)
    case restart
    case audit
    indirect case checkDelivery(CallKey, epoch: UInt32, number: CallNumber)
    indirect case checkRing(handset: Int, instance: Int, CallName)
    case settle
    case hangUpAll
    case finish
}
