import CallCore
import CallPorts
import CallWire

/// The fetches that wait for the next entry of their call, and the response bodies that equal fetches of one moment
/// share.
struct LongPolls {
    /// A fetch under way; it may wait for the next entry.
    struct PendingFetch {
        let call: CallNumber
        let principal: Principal
        let device: DeviceIdentity
        let fetch: Switchboard.Fetch
        let until: Moment
        /// The ICE servers for the client; empty if the response has no member for them.
        let iceServers: [UInt8]
    }

    private var fetches: [RequestID: PendingFetch] = [:]
    /// The bodies built for fetches at one moment: fetches with the same key share one array.
    private var bodies: (at: Moment, built: [FetchKey: [UInt8]])

    init(at now: Moment) { bodies = (now, [:]) }

    subscript(id: RequestID) -> PendingFetch? { fetches[id] }

    /// The fetches that wait, in the order in which they came.
    var ids: [RequestID] { fetches.keys.sorted { $0.rawValue < $1.rawValue } }

    /// Returns the number of a user's fetches that wait for the next entry of a call.
    func count(of user: UserID, for call: Call) -> Int { call.polls.count { fetches[$0]?.principal.user == user } }

    mutating func insert(_ fetch: PendingFetch, as id: RequestID) { fetches[id] = fetch }

    mutating func remove(_ id: RequestID) -> PendingFetch? { fetches.removeValue(forKey: id) }

    mutating func removeAll() { fetches.removeAll() }

    // MARK: Bodies

    /// Returns the body that was built at this moment for a fetch with the same key; `nil` = none was built.
    mutating func body(_ key: FetchKey, at now: Moment) -> [UInt8]? {
        if bodies.at != now { bodies = (now, [:]) }
        return bodies.built[key]
    }

    /// Keeps a body for further fetches at this moment.
    mutating func keep(_ body: [UInt8], for key: FetchKey) { bodies.built[key] = body }

    /// Forgets the bodies that one turn's fetches share.
    mutating func forgetBodies() { if !bodies.built.isEmpty { bodies.built = [:] } }
}

/// Everything that the body of a fetch depends on.
struct FetchKey: Hashable {
    private let call: CallNumber
    private let lastSeq: UInt64
    private let state: CallState
    private let user: UserID
    private let device: DeviceIdentity
    private let since: UInt64
    private let isArray: Bool
    private let isInteger: Bool
    private let iceServers: [UInt8]

    init(_ poll: LongPolls.PendingFetch, _ call: Call, since: UInt64) {
        self.call = call.number
        lastSeq = call.session.lastSeq
        state = call.session.state
        user = poll.principal.user
        device = poll.device
        self.since = since
        isArray = poll.fetch.isArray
        isInteger = poll.principal.userIsInteger
        iceServers = poll.iceServers
    }
}
