import CallCore
import CallPorts
import CallWire

/// The purpose of a query to the store.
enum PendingQuery {
    case history(RequestID, Principal)
    case record(RequestID, Principal, with: UserID)
    case call(RequestID, Principal)
    case timeline(RequestID, Principal)
    case peers(UserID)
    /// Replay the timeline of a call to a connection that watches it.
    case watch(PendingWatch)
    /// Load a call at rest.
    case load(CallNumber)
}

/// Work that waits until calls at rest are loaded.
struct ParkedWork {
    enum Work {
        case signal(SignalMessage, id: SignalID?, Connection)
        case sync([CallID: ClientMessage.Cursor], id: SignalID?, ConnectionID)
        case request(RequestID, Principal, Switchboard.Request)
        case timeline(RequestID, Principal, CallRecord, [TimelineRecord])
        case watch(PendingWatch, CallRecord, [TimelineRecord])
        /// Notify a device that has connected of the calls that ended while it was away.
        case endNotices(ConnectionID)
        /// Remove a call that can no longer be fetched.
        case expiry(CallNumber)
    }

    /// The calls that have not been loaded yet.
    var awaited: Set<CallNumber>
    let work: Work
}

/// The queries without a result, and the work that waits for calls at rest.
struct PendingQueries {
    private var open: [StoreQueryID: PendingQuery] = [:]
    private var lastID: UInt64 = 0
    /// The work that waits for calls at rest to be read from the store, oldest first.
    private var parked: [ParkedWork] = []
    private var beingLoaded: Set<CallNumber> = []
    /// The calls at rest that the current signal may concern; empty = it may concern none.
    ///
    /// The signal is handled again when these calls have been read.
    var awaited: [CallNumber] = []

    /// Whether any work waits for a call at rest.
    var hasParked: Bool { !parked.isEmpty }

    /// Whether no call at rest is being loaded, and no work waits for one.
    var isIdle: Bool { parked.isEmpty && beingLoaded.isEmpty }

    /// Records a query, and returns its number.
    mutating func register(for purpose: PendingQuery) -> StoreQueryID {
        lastID += 1
        let id = StoreQueryID(rawValue: lastID)
        open[id] = purpose
        return id
    }

    /// Removes and returns the purpose of a query that has its result; `nil` = the query is unknown.
    mutating func finish(_ id: StoreQueryID) -> PendingQuery? { open.removeValue(forKey: id) }

    // MARK: Calls at rest

    /// Puts work aside until calls are loaded; returns those of the calls that are not being loaded yet.
    mutating func park(_ work: ParkedWork.Work, until numbers: [CallNumber]) -> [CallNumber] {
        parked.append(ParkedWork(awaited: Set(numbers), work: work))
        return numbers.filter { beingLoaded.insert($0).inserted }
    }

    /// Removes and returns the work that waited for this call and now waits for no other call, oldest first.
    mutating func unpark(_ number: CallNumber) -> [ParkedWork.Work] {
        beingLoaded.remove(number)
        for index in parked.indices { parked[index].awaited.remove(number) }
        let ready = parked.filter(\.awaited.isEmpty)
        parked.removeAll(where: \.awaited.isEmpty)
        return ready.map(\.work)
    }

    /// Removes and returns the work that cannot be done because a call could not be loaded, oldest first.
    ///
    /// `notices` are the connections whose devices were to be notified of the call's end. They are still notified of
    /// the ends of other calls.
    mutating func cancelLoad(_ number: CallNumber) -> (failed: [ParkedWork.Work], notices: [ConnectionID]) {
        beingLoaded.remove(number)
        var notices: [ConnectionID] = []
        for index in parked.indices {
            if case .endNotices(let id) = parked[index].work, parked[index].awaited.remove(number) != nil {
                notices.append(id)
            }
        }
        let failed = parked.filter { $0.awaited.contains(number) || $0.awaited.isEmpty }
        parked.removeAll { $0.awaited.contains(number) || $0.awaited.isEmpty }
        return (failed.map(\.work), notices)
    }

    /// Returns the calls that the newest fitting parked offer waits for; `nil` = no parked offer fits.
    func newestOffer(where fits: (SignalMessage, _ from: UserID) -> Bool) -> Set<CallNumber>? {
        parked.last { work in
            switch work.work {
            case .signal(let message, _, let connection) where message.signal.kind == .offer:
                fits(message, connection.user)
            case .request(_, let principal, .signal(let message)) where message.signal.kind == .offer:
                fits(message, message.from ?? principal.user)
            case .signal, .sync, .request, .timeline, .watch, .endNotices, .expiry: false
            }
        }?.awaited
    }

    /// Removes a fetch that waits for a call at rest, because its client no longer waits for the response.
    ///
    /// The fetch must not become a long poll once its call is loaded. Parked requests other than fetches are still
    /// carried out.
    mutating func removeFetch(_ id: RequestID) {
        parked.removeAll { if case .request(id, _, .fetch) = $0.work { true } else { false } }
    }
}
