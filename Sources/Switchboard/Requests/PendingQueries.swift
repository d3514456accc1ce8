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
    /// Respond with a page of the call directory.
    case numbers(RequestID, UserID)
    /// Find out what the update of the call directory that is first in the queue would change.
    case numberChanges
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
///
/// Each load concerns only the work that waits for it: thousands of calls may be loaded while thousands of works wait.
struct PendingQueries {
    private var open: [StoreQueryID: PendingQuery] = [:]
    private var lastID: UInt64 = 0
    /// The work that waits for calls at rest to be read from the store, by its place in the order of arrival.
    private var parked: [UInt64: ParkedWork] = [:]
    private var lastPlace: UInt64 = 0
    /// The calls that are being loaded, each with the places of the work that waited for it, oldest first.
    private var waiting: [CallNumber: [UInt64]] = [:]
    /// The places of the parked offers.
    private var offers: Set<UInt64> = []
    /// The places of the parked fetches.
    private var fetches: [RequestID: UInt64] = [:]
    /// The calls at rest that the current signal may concern; empty = it may concern none.
    ///
    /// The signal is handled again when these calls have been read.
    var awaited: [CallNumber] = []

    /// Whether any work waits for a call at rest.
    var hasParked: Bool { !parked.isEmpty }

    /// Whether no call at rest is being loaded, and no work waits for one.
    var isIdle: Bool { parked.isEmpty && waiting.isEmpty }

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
        lastPlace += 1
        parked[lastPlace] = ParkedWork(awaited: Set(numbers), work: work)
        if work.offer != nil { offers.insert(lastPlace) }
        if let fetch = work.fetch { fetches[fetch] = lastPlace }
        return numbers.filter { number in
            let isNew = waiting[number] == nil
            waiting[number, default: []].append(lastPlace)
            return isNew
        }
    }

    /// Removes and returns the work that waited for this call and now waits for no other call, oldest first.
    mutating func unpark(_ number: CallNumber) -> [ParkedWork.Work] {
        var ready: [ParkedWork.Work] = []
        for place in waiting.removeValue(forKey: number) ?? [] {
            parked[place]?.awaited.remove(number)
            guard parked[place]?.awaited.isEmpty == true, let work = remove(place) else { continue }
            ready.append(work)
        }
        return ready
    }

    /// Removes and returns the work that cannot be done because a call could not be loaded, oldest first.
    ///
    /// `notices` are the connections whose devices were to be notified of the call's end. They are still notified of
    /// the ends of other calls.
    mutating func cancelLoad(_ number: CallNumber) -> (failed: [ParkedWork.Work], notices: [ConnectionID]) {
        var failed: [ParkedWork.Work] = []
        var notices: [ConnectionID] = []
        for place in waiting.removeValue(forKey: number) ?? [] {
            if case .endNotices(let id)? = parked[place]?.work {
                guard parked[place]?.awaited.remove(number) != nil else { continue }
                notices.append(id)
                guard parked[place]?.awaited.isEmpty == true else { continue }
            }
            if let work = remove(place) { failed.append(work) }
        }
        return (failed, notices)
    }

    /// Returns the calls that the newest fitting parked offer waits for; `nil` = no parked offer fits.
    func newestOffer(where fits: (SignalMessage, _ from: UserID) -> Bool) -> Set<CallNumber>? {
        for place in offers.sorted(by: >) {
            if let (message, user) = parked[place]?.work.offer, fits(message, user) { return parked[place]?.awaited }
        }
        return nil
    }

    /// Removes a fetch that waits for a call at rest, because its client no longer waits for the response.
    ///
    /// The fetch must not become a long poll once its call is loaded. Parked requests other than fetches are still
    /// carried out.
    mutating func removeFetch(_ id: RequestID) {
        if let place = fetches[id] { _ = remove(place) }
    }

    private mutating func remove(_ place: UInt64) -> ParkedWork.Work? {
        guard let work = parked.removeValue(forKey: place)?.work else { return nil }
        offers.remove(place)
        if let fetch = work.fetch { fetches[fetch] = nil }
        return work
    }
}

extension ParkedWork.Work {
    /// The offer that waits, and the user who makes it; `nil` = another work.
    fileprivate var offer: (SignalMessage, from: UserID)? {
        switch self {
        case .signal(let message, _, let connection) where message.signal.kind == .offer: (message, connection.user)
        case .request(_, let principal, .signal(let message)) where message.signal.kind == .offer:
            (message, message.from ?? principal.user)
        case .signal, .sync, .request, .timeline, .watch, .endNotices, .expiry: nil
        }
    }

    /// The request of a fetch that waits; `nil` = another work.
    fileprivate var fetch: RequestID? {
        if case .request(let id, _, .fetch) = self { id } else { nil }
    }
}
