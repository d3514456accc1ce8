import CallCore
import CallPorts

@testable import Switchboard

/// A store of events and of what their delivery stores, for tests: changes become durable when the test says so, and
/// until then a crash loses them.
struct EventStoreModel {
    /// The rows.
    struct Rows {
        var events: [EventPosition: AppEvent] = [:]
        var newest = EventPosition.start
        var endpoints: [String: EventEndpoint] = [:]
        var held: [String: [EventPosition: HeldEvent]] = [:]
        /// The largest position that was deleted.
        var forgottenUpTo = EventPosition.start
    }

    /// With every change; what queries see.
    private(set) var rows = Rows()
    /// With the changes that a crash does not lose.
    private(set) var durable = Rows()
    private var batches: [[Change]] = []

    /// Whether a batch is not durable yet.
    var hasBatch: Bool { !batches.isEmpty }

    /// Hands over a batch.
    mutating func commit(_ batch: [Change]) {
        guard !batch.isEmpty else { return }
        for change in batch { rows.apply(change) }
        batches.append(batch)
    }

    /// Makes the oldest batch durable; returns the events in it.
    mutating func makeDurable() -> [AppEvent] {
        guard !batches.isEmpty else { return [] }
        let batch = batches.removeFirst()
        for change in batch { durable.apply(change) }
        return batch.compactMap { if case .appEvent(let event) = $0 { event } else { nil } }
    }

    /// Loses what is not durable.
    mutating func crash() {
        batches.removeAll()
        rows = durable
    }

    /// What a start reads.
    var stored: StoredEvents {
        var stored = StoredEvents()
        stored.newest = durable.newest
        stored.endpoints = durable.endpoints.values.sorted { $0.url < $1.url }
        return stored
    }

    /// Answers a query.
    func answer(_ query: StoreQuery) -> StoreResult {
        switch query {
        case .events(let read): .events(rows.page(read))
        case .heldEvents(let read): .heldEvents(rows.held(read))
        default: .failed(StoreFailure("no such query"))
        }
    }
}

extension EventStoreModel.Rows {
    mutating func apply(_ change: Change) {
        switch change {
        case .appEvent(let event):
            events[event.position] = event
            newest = max(newest, event.position)
        case .eventEndpoint(let endpoint): endpoints[endpoint.url] = endpoint
        case .eventEndpointRemoved(let url): (endpoints[url], held[url]) = (nil, nil)
        case .eventHeld(let event): held[event.url, default: [:]][event.position] = event
        case .eventReleased(let url, let position): held[url]?[position] = nil
        case .eventsForgotten(let last, _):
            forgottenUpTo = max(forgottenUpTo, last)
            events = events.filter { $0.key > last }
            for url in held.keys { held[url] = held[url]?.filter { $0.key > last } }
        default: break
        }
    }

    func page(_ read: EventRead) -> EventPage {
        let last = read.upTo ?? newest
        let positions = events.keys.filter { $0 > read.after && $0 <= last }.sorted()
        let part = positions.prefix(read.count)
        let readUpTo = part.count < positions.count ? part.last ?? read.after : max(last, read.after)
        return EventPage(events: part.compactMap { events[$0] }, readUpTo: readUpTo, oldest: events.keys.min())
    }

    func held(_ read: HeldRead) -> [HeldContent] {
        var rows = (held[read.url] ?? [:]).values.sorted { $0.position < $1.position }
        switch read.choice {
        case .retries:
            let moments = rows.compactMap { row in
                if case .retry(let at) = row.state { (at: at, row: row) } else { nil }
            }
            rows = moments.sorted { $0.at == $1.at ? $0.row.position < $1.row.position : $0.at < $1.at }.map(\.row)
        case .ofCall(let call, let after): rows = rows.filter { $0.call == call && $0.position > after }
        case .ofCalls(let calls):
            rows = calls.compactMap { call in rows.first { $0.call == call } }.sorted { $0.position < $1.position }
        case .after(let position): rows = rows.filter { $0.position > position }
        case .parked(let after): rows = rows.filter { $0.position > after && $0.state == .parked }
        }
        return rows.prefix(read.count).map { HeldContent(held: $0, event: events[$0.position]) }
    }
}
