package import CallCore
import CallPorts

/// The events for the app's backend in memory.
struct AppEventTables {
    /// The events, in the order of their positions.
    private var events: [AppEvent] = []
    private var endpoints: [String: EventEndpoint] = [:]
    /// The held events of each endpoint.
    private var held: [String: [EventPosition: HeldEvent]] = [:]
    var incarnation = EventIncarnation.first
    /// The sum of the events' bytes.
    private var bytes: Int64 = 0
    /// Every event up to this position is held, because the others were deleted.
    private var thinnedUpTo = EventPosition.start

    mutating func keep(_ event: AppEvent) {
        let index = index(after: event.position)
        // An event never changes.
        if index > 0, events[index - 1].position == event.position { return }
        events.insert(event, at: index)
        bytes += Int64(event.byteCount)
    }

    mutating func keep(_ endpoint: EventEndpoint) { endpoints[endpoint.url] = endpoint }

    mutating func remove(_ url: String) {
        if let first = held.removeValue(forKey: url)?.keys.min() { beginThinning(at: first) }
        endpoints[url] = nil
    }

    mutating func hold(_ event: HeldEvent) { held[event.url, default: [:]][event.position] = event }

    mutating func release(_ url: String, _ position: EventPosition) {
        held[url]?[position] = nil
        beginThinning(at: position)
    }

    /// Lets the next search for events that can be deleted begin at a position, at the latest.
    private mutating func beginThinning(at position: EventPosition) {
        thinnedUpTo = min(thinnedUpTo, EventPosition(rawValue: position.rawValue - 1))
    }

    mutating func forget(upTo position: EventPosition, keepsHeld: Bool) {
        let old = events[..<index(after: position)]
        // The next event's position follows from the newest one, which therefore stays.
        let kept = old.filter { $0.position == newest || keepsHeld && isHeld($0.position) }
        bytes += kept.reduce(0) { $0 + Int64($1.byteCount) } - old.reduce(0) { $0 + Int64($1.byteCount) }
        events.replaceSubrange(..<old.endIndex, with: kept)
        if keepsHeld {
            thinnedUpTo = max(thinnedUpTo, position)
        } else {
            for url in held.keys { held[url] = held[url]?.filter { $0.key > position } }
        }
    }

    /// What a start of the server needs.
    var stored: StoredEvents {
        var stored = StoredEvents()
        stored.incarnation = incarnation
        stored.newest = newest
        stored.endpoints = endpoints.values.sorted { $0.url < $1.url }
        return stored
    }

    // MARK: Queries

    /// Returns a page of events; `id`: Returns the callId of a call.
    func page(_ read: EventRead, _ id: (CallNumber) -> CallID?) -> EventPage {
        let last = read.upTo.map { index(after: $0) } ?? events.endIndex
        let rows = events[min(index(after: read.after), last)..<last]
        let isFiltered = read.types != nil || read.callID != nil
        let searched = isFiltered ? rows.prefix(EventRead.searched) : rows
        var page: [AppEvent] = []
        for event in searched where read.types?.contains(event.type) ?? true {
            if page.count == read.pageSize { break }
            if read.callID == nil || read.callID == event.call.flatMap(id) { page.append(event) }
        }
        var end = searched.count < rows.count ? searched.last?.position : nil
        if page.count == read.pageSize { end = page.last?.position ?? read.after }
        return read.page(page, endedAt: end, oldest: events.first?.position, newest: newest)
    }

    func held(_ read: HeldRead) -> [HeldContent] {
        let all = (held[read.url] ?? [:]).values.sorted { $0.position < $1.position }
        let chosen: [HeldEvent]
        switch read.choice {
        case .retries:
            chosen = all.compactMap { held in held.state.retryAt.map { (at: $0, held: held) } }
                .sorted { ($0.at, $0.held.position) < ($1.at, $1.held.position) }
                .map(\.held)
        case .ofCall(let call, let position): chosen = all.filter { $0.call == call && $0.position > position }
        case .ofCalls(let calls):
            var missing = Set(calls)
            chosen = all.filter { $0.call.map { missing.remove($0) != nil } ?? false }
        case .after(let position): chosen = all.filter { $0.position > position }
        case .parked(let position): chosen = all.filter { $0.state == .parked && $0.position > position }
        }
        return chosen.prefix(read.pageSize).map { HeldContent(held: $0, event: event($0.position)) }
    }

    func excess(_ bounds: EventBounds) -> EventExcess {
        let sums = EventSums(
            bytes: bytes,
            newest: newest,
            settled: endpoints.values.map(\.settledUpTo),
            thinnedUpTo: thinnedUpTo
        )
        return bounds.excess(sums) { after, upTo in
            let first = index(after: after)
            return events[first..<max(first, index(after: upTo))].prefix(EventRead.limit + 1).map {
                EventRow(
                    position: $0.position,
                    at: $0.at.milliseconds,
                    bytes: Int64($0.byteCount),
                    isHeld: isHeld($0.position)
                )
            }
        }
    }

    private var newest: EventPosition { events.last?.position ?? .start }

    private func isHeld(_ position: EventPosition) -> Bool { held.values.contains { $0[position] != nil } }

    private func event(_ position: EventPosition) -> AppEvent? {
        let index = index(after: position)
        return index > 0 && events[index - 1].position == position ? events[index - 1] : nil
    }

    /// Returns the index of the first event after a position.
    private func index(after position: EventPosition) -> Int {
        var (low, high) = (0, events.count)
        while low < high {
            let middle = (low + high) / 2
            if events[middle].position <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Tables {
    /// Begins a new incarnation of the database, as the restoration of a backup does.
    package mutating func beginIncarnation(at now: Moment) {
        appEvents.incarnation = appEvents.incarnation.next(at: now)
    }
}
