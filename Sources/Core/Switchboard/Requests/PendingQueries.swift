import CallCore
import CallPorts
import CallWire

/// The purpose of a query to the store.
enum PendingQuery {
    case history(RequestID, Principal)
    case record(RequestID, Principal, with: UserID)
    case call(RequestID, Principal)
    case timeline(RequestID, Principal)
    /// Respond to a service with calls.
    case list(RequestID, Switchboard.CallFilter)
    /// Respond to a service with a call.
    case serviceCall(RequestID)
    case peers(UserID)
    /// Replay the timeline of a call to a connection that watches it.
    case watch(PendingWatch)
    /// Load a call at rest.
    case load(CallNumber)
    /// Find out the epoch of the next call under a callId.
    case epoch(CallKey)
    /// Continue the delivery of events.
    case delivery(EventReadID)
    /// Delete the events that are too old or too many.
    case eventExcess
    /// Respond with a page of the feed of events.
    case feed(RequestID, Switchboard.FeedRead)
    /// Respond with a page of the call directory.
    case numbers(RequestID, UserID)
    /// Find out what the update of the call directory that is first in the queue would change.
    case numberChanges
}

/// The reason why a signal or request waits: a call or an epoch in the store alone, or a decision of the app's backend.
enum Awaited: Hashable, Comparable {
    /// A call at rest.
    case call(CallNumber)
    /// The newest epoch of a callId that is used for the first time since the start.
    case epoch(CallKey)
    /// A decision of the app's backend.
    case decision(DecisionID)

    /// Whether `a` is read before `b`: calls in the order of their numbers, then epochs, then decisions.
    static func < (a: Self, b: Self) -> Bool { a.place < b.place }

    private var place: (CallNumber, String, UInt64) {
        switch self {
        case .call(let number): (number, "", 0)
        case .epoch(let key): (CallNumber(rawValue: .max), key.id.text, 0)
        case .decision(let id): (CallNumber(rawValue: .max), "", id.rawValue)
        }
    }
}

/// Work that waits until calls at rest are loaded, or epochs are read.
struct ParkedWork {
    enum Work {
        case signal(SignalMessage, id: SignalID?, Connection)
        case sync([CallID: ClientMessage.Cursor], id: SignalID?, SocketID)
        case request(RequestID, Principal, Switchboard.Request)
        case timeline(RequestID, Principal, CallRecord, [TimelineRecord])
        case watch(PendingWatch, CallRecord, [TimelineRecord])
        /// Notify a device that has connected of the calls that ended while it was away.
        case endNotices(SocketID)
        /// Remove a call that can no longer be fetched.
        case expiry(CallNumber)
    }

    /// The reads without a result yet.
    var awaited: Set<Awaited>
    let work: Work
}

/// The queries without a result, and the work that waits for calls at rest or for epochs.
///
/// Each load concerns only the work that waits for it: thousands of calls may be loaded while thousands of works wait.
struct PendingQueries {
    private var open: [StoreQueryID: (purpose: PendingQuery, lane: QueryLane, since: Moment)] = [:]
    private var lastID: UInt64 = 0
    /// The work that waits for the store, by its place in the order of arrival.
    private var parked: [UInt64: ParkedWork] = [:]
    private var lastPlace: UInt64 = 0
    /// The reads under way, each with the places of the work that waits for it, oldest first.
    private var waiting: [Awaited: [UInt64]] = [:]
    /// The epochs that are being read, by callId.
    private var epochs: [CallID: [CallKey]] = [:]
    /// The places of the parked offers.
    private var offers: Set<UInt64> = []
    /// The places of the parked fetches.
    private var fetches: [RequestID: UInt64] = [:]
    /// What the current signal must wait for; empty = nothing.
    ///
    /// The signal is handled again when all of it has been read.
    var awaited: [Awaited] = []
    /// The questions to the app's backend about offers.
    var decisions = CallDecisions()

    /// Whether any work waits for the store.
    var hasParked: Bool { !parked.isEmpty }

    /// Whether an epoch is being read.
    var readsEpochs: Bool { !epochs.isEmpty }

    /// Returns the epochs that are being read for a user's offers, or for offers to the user, under a callId.
    func epochs(_ id: CallID, of user: UserID) -> [Awaited] {
        (epochs[id] ?? []).filter { $0.pair.contains(user) }.map(Awaited.epoch)
    }

    /// Whether no work waits, and nothing is being read for any.
    var isIdle: Bool { parked.isEmpty && waiting.isEmpty }

    /// Records a query, and returns its number.
    mutating func register(for purpose: PendingQuery, in lane: QueryLane, at now: Moment) -> StoreQueryID {
        lastID += 1
        let id = StoreQueryID(rawValue: lastID)
        open[id] = (purpose, lane, now)
        return id
    }

    /// Removes and returns a query that has its result; `nil` = the query is unknown.
    mutating func finish(_ id: StoreQueryID) -> (purpose: PendingQuery, lane: QueryLane, since: Moment)? {
        open.removeValue(forKey: id)
    }

    // MARK: Parked work

    /// Puts work aside until what it waits for is read; returns what is not being read yet.
    mutating func park(_ work: ParkedWork.Work, until awaited: [Awaited]) -> [Awaited] {
        lastPlace += 1
        parked[lastPlace] = ParkedWork(awaited: Set(awaited), work: work)
        if work.offer != nil { offers.insert(lastPlace) }
        if let fetch = work.fetch { fetches[fetch] = lastPlace }
        return awaited.filter { one in
            let isNew = waiting[one] == nil
            waiting[one, default: []].append(lastPlace)
            if isNew, case .epoch(let key) = one { epochs[key.id, default: []].append(key) }
            return isNew
        }
    }

    /// Removes and returns the work that waited for this and now waits for nothing else, oldest first.
    mutating func unpark(_ awaited: Awaited) -> [ParkedWork.Work] {
        var ready: [ParkedWork.Work] = []
        for place in finishReading(awaited) {
            parked[place]?.awaited.remove(awaited)
            guard parked[place]?.awaited.isEmpty == true, let work = remove(place) else { continue }
            ready.append(work)
        }
        return ready
    }

    /// Removes and returns the work that cannot be done because the store could not read this, oldest first.
    ///
    /// `notices` are the connections whose devices were to be notified of the call's end. They are still notified of
    /// the ends of other calls.
    mutating func cancel(_ awaited: Awaited) -> (failed: [ParkedWork.Work], notices: [SocketID]) {
        var failed: [ParkedWork.Work] = []
        var notices: [SocketID] = []
        for place in finishReading(awaited) {
            if case .endNotices(let id)? = parked[place]?.work {
                guard parked[place]?.awaited.remove(awaited) != nil else { continue }
                notices.append(id)
                guard parked[place]?.awaited.isEmpty == true else { continue }
            }
            if let work = remove(place) { failed.append(work) }
        }
        return (failed, notices)
    }

    /// Records that this was read, and returns the places of the work that waited for it, oldest first.
    private mutating func finishReading(_ awaited: Awaited) -> [UInt64] {
        if case .epoch(let key) = awaited {
            epochs[key.id]?.removeAll { $0 == key }
            if epochs[key.id]?.isEmpty == true { epochs[key.id] = nil }
        }
        return waiting.removeValue(forKey: awaited) ?? []
    }

    /// Returns what the newest fitting parked offer waits for; `nil` = no parked offer fits.
    func newestOffer(where fits: (SignalMessage, _ from: UserID) -> Bool) -> Set<Awaited>? {
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
