package import CallCore
import CallPorts
import CallWire
import JSON

/// The delivery of events to the endpoints of the app's backend, and the deletion of old events.
extension Switchboard {
    /// Begins the delivery, with what the store had at the start.
    mutating func beginDeliveries(_ stored: StoredState) {
        guard let policy = policy.events else { return }
        var effects: [EventDeliveries.Effect] = []
        appEvents.deliveries = EventDeliveries(
            endpoints: policy.endpoints,
            stored: stored.events,
            lastCall: CallNumber(rawValue: stored.lastCallNumber),
            at: turn.now,
            into: &effects
        )
        carryOut(effects)
        // The outputs of a start wait for the first input, and a night may pass without one.
        if !effects.isEmpty { schedule(.deliveries, at: turn.now) }
    }

    /// Hands the events that are durable now to the endpoints and to the readers of the feed.
    mutating func eventsBecameDurable() {
        let events = appEvents.takeDurable(upTo: commits.committed)
        deliver { $0.appended(events, at: $1, into: &$2) }
        if appEvents.feedWaits.count > 0 { feedGrew() }
    }

    mutating func delivered(_ id: DeliveryID, _ result: DeliveryResult) {
        deliver { $0.responded(id, result, at: $1, into: &$2) }
    }

    mutating func deliveryRead(_ id: EventReadID, _ result: StoreResult) {
        deliver { $0.answered(id, result, at: $1, into: &$2) }
    }

    mutating func deliveriesDue(timerAt: Moment) {
        if appEvents.deliveriesTimerAt == timerAt { appEvents.deliveriesTimerAt = nil }
        guard let deadline = appEvents.deliveries.deadline, deadline <= turn.now else { return planDeliveries() }
        deliver { $0.deadlineReached(at: $1, into: &$2) }
    }

    /// Delivers events again to every endpoint, as an operator demands.
    mutating func resendEvents(_ resend: EventDeliveries.Resend) {
        deliver { _ = $0.resend(resend, to: nil, at: $1, into: &$2) }
    }

    /// Lets the delivery handle an input, and carries out its effects.
    private mutating func deliver(
        _ input: (inout EventDeliveries, Moment, inout [EventDeliveries.Effect]) -> Void
    ) {
        guard !appEvents.deliveries.isEmpty else { return }
        var effects: [EventDeliveries.Effect] = []
        input(&appEvents.deliveries, turn.now, &effects)
        carryOut(effects)
    }

    private mutating func carryOut(_ effects: [EventDeliveries.Effect]) {
        for effect in effects {
            switch effect {
            case .send(let request): turn.out.append(.deliver(request))
            case .store(let change): commits.append(change)
            case .read(let query, let id): submit(query, for: .delivery(id))
            case .note(let note): turn.out.append(.note(.events(note)))
            }
        }
        planDeliveries()
    }

    private mutating func planDeliveries() {
        guard let deadline = appEvents.deliveries.deadline else { return }
        if let at = appEvents.deliveriesTimerAt, at <= deadline { return }
        appEvents.deliveriesTimerAt = deadline
        schedule(.deliveries, at: deadline)
    }

    /// Returns the metrics, with the state of the delivery of events.
    package func metrics(at now: Moment) -> Metrics {
        var metrics = metrics
        metrics.keepsEvents = appEvents.areWanted
        metrics.endpoints = appEvents.deliveries.figures
        for place in metrics.endpoints.indices {
            let age = metrics.endpoints[place].oldestAt.map { now - $0 }
            metrics.endpoints[place].oldestSeconds = Int(clamping: max(0, age?.milliseconds ?? 0) / 1_000)
        }
        return metrics
    }

    // MARK: Old events

    /// Asks which events are too old or too many.
    mutating func forgetOldEvents() {
        guard let policy = policy.events, precautions.historyHold.allowsDeletion(at: turn.now) else { return }
        submit(.eventExcess(EventBounds(before: turn.now - policy.keptFor, bytes: policy.keptBytes)), for: .eventExcess)
    }

    /// Deletes events, and reports how many of them were not delivered.
    mutating func forget(_ excess: EventExcess) {
        guard let last = excess.upTo else { return }
        commits.append(.eventsForgotten(upTo: last, keepsHeld: excess.keepsHeld))
        // In the same commit: a crash must not hide the loss.
        if excess.lostCount > 0 { reportLost(excess.lostCount, upTo: last) }
        deliver { $0.forgotten(upTo: last, keepsHeld: excess.keepsHeld, at: $1, into: &$2) }
        if excess.hasMore { forgetOldEvents() }
    }

    private mutating func reportLost(_ count: Int, upTo last: EventPosition) {
        metrics.eventsLost += UInt64(count)
        turn.out.append(.note(.eventsLost(count)))
        var json = JSONWriter(capacity: 96)
        json.beginObject()
        json.name("count")
        json.value(Int64(count))
        json.name("upTo")
        json.plain(EventCursor(appEvents.incarnation, last).text)
        json.endObject()
        add(.eventsLost, at: turn.now, data: json.bytes)
    }
}
