import CallCore
import CallPorts
import CallWire
import JSON
import Switchboard

/// What an endpoint was told.
struct ToldEndpoint {
    /// The events that it has taken.
    var taken: Set<EventPosition> = []
    /// The newest event of each call that it has taken, by its number in the call.
    var newest: [CallNumber: UInt32] = [:]
    /// The calls of which it has refused an event, or did not take it.
    var refused: Set<CallNumber> = []
    /// The durable held events; true = the event is parked.
    var held: [EventPosition: Bool] = [:]
    /// Whether the store knows that it is gone.
    var isStopped = false
    /// The requests on their way, by the run of the server that has sent them.
    var underWay: [Int: [DeliveryID: StoredEvent]] = [:]
}

extension BackendChecker {
    /// The largest number of requests at once (protocol, section 13.5).
    private static let requestsAtOnce = 8
    /// How long, in milliseconds, an event may wait to be sent while its endpoint takes the events of other calls: for
    /// the probes of an endpoint that was down, and for requests of stuck calls that get no response.
    private static let longestWait: Int64 = 150_000

    /// Checks a request that a run of a server sends.
    mutating func sent(_ request: EventRequest, by run: Int) {
        guard let event = event(request) else {
            return fail("I22", "\(request.eventID) is sent, and no event with this id is durable")
        }
        guard endpoints[request.url] != nil else { return fail("I23", "\(request.url) was not configured") }
        if let message = fault(in: request.body, of: event) { fail("I23", "\(request.eventID): \(message)") }
        let underWay = endpoints[request.url]?.underWay[run] ?? [:]
        if let call = event.call, underWay.values.contains(where: { $0.call == call }) {
            fail("I28", "two requests of one call are on their way to \(request.url)")
        }
        if underWay.count >= Self.requestsAtOnce {
            fail("I28", "\(underWay.count + 1) requests are on their way to \(request.url)")
        }
        endpoints[request.url]?.underWay[run, default: [:]][request.id] = event
    }

    /// Notes that a run of a server gets the result of a request.
    mutating func resulted(_ id: DeliveryID, by run: Int) {
        for url in endpoints.keys { endpoints[url]?.underWay[run]?[id] = nil }
    }

    /// Returns what is wrong with the body that shows an event.
    private func fault(in body: [UInt8], of event: StoredEvent) -> String? {
        guard let object = MessageReader.object(body) else { return "the body is no object" }
        let expected = [
            ("type", event.type.rawValue), ("timestamp", Timestamp.text(event.at)),
            ("id", "evt_1_\(event.position.rawValue)"), ("cursor", "1_\(event.position.rawValue)"),
        ]
        for (name, text) in expected where object.text(of: Key(name)) != text { return "\(name) is not \(text)" }
        let data = object.members.first { object.name(of: $0) == "data" }
        guard let data, object.bytes[data.value].elementsEqual(event.data) else { return "data has changed" }
        return nil
    }

    /// Notes that an endpoint has taken an event, and checks that it comes after the earlier ones of its call.
    mutating func taken(_ event: StoredEvent, at url: String) {
        guard endpoints[url]?.taken.insert(event.position).inserted == true, let call = event.call else { return }
        let before = endpoints[url]?.newest[call] ?? 0
        endpoints[url]?.newest[call] = max(before, event.number)
        guard event.number > before else {
            return fail("I24", "\(url) takes event \(event.number) of a call for the first time, after \(before)")
        }
        guard event.number > before + 1 else { return }
        for number in before + 1..<event.number {
            guard let skipped = calls[call]?.events.first(where: { $0.number == number }) else { continue }
            guard !deleted.contains(skipped.position) else { continue }
            return fail("I24", "\(url) takes event \(event.number) of a call, and has not taken \(number)")
        }
    }

    /// Notes that an endpoint has not taken an event.
    mutating func failed(_ event: StoredEvent, at url: String) {
        if let call = event.call { endpoints[url]?.refused.insert(call) }
    }

    /// Checks that no event waits whose call no request has failed, while its endpoint takes the events of other calls.
    ///
    /// `calmFrom`: Since when only the events of stuck calls have failed.
    mutating func checkUntried(at url: String, calmFrom: Int64, isStuck: (CallNumber) -> Bool, now: Int64) {
        guard let endpoint = endpoints[url], !endpoint.isStopped else { return }
        for (event, since) in zip(events, durableAt) where now > max(since, calmFrom) + Self.longestWait {
            guard let call = event.call, !isStuck(call), !endpoint.refused.contains(call),
                !endpoint.taken.contains(event.position), !deleted.contains(event.position),
                !(calls[call]?.events.contains { deleted.contains($0.position) } ?? false)
            else { continue }
            let span = (now - max(since, calmFrom)) / 1_000
            return fail("I24", "\(event.id) waits for \(span) s, although no event of its call has failed at \(url)")
        }
    }

    // MARK: The end

    /// Whether an event is parked, or an endpoint has stopped.
    var isAnyParked: Bool { endpoints.values.contains { $0.isStopped || $0.held.values.contains(true) } }

    /// Returns what is still to be delivered; `nil` = nothing.
    ///
    /// `parked`: Whether what is parked, or is for an endpoint that has stopped, is to be delivered as well.
    func missing(parked: Bool) -> String? {
        for (url, endpoint) in endpoints.sorted(by: { $0.key < $1.key }) where parked || !endpoint.isStopped {
            for event in events where !endpoint.taken.contains(event.position) && !deleted.contains(event.position) {
                if !parked, endpoint.held[event.position] == true { continue }
                return "\(event.id), \(event.type.rawValue), was neither delivered to \(url) nor parked"
            }
        }
        return nil
    }

    /// Checks that every call that has begun has ended.
    mutating func checkEnd() {
        guard policy.types.isSuperset(of: [.callStarted, .callEnded]) else { return }
        for (number, call) in calls.sorted(by: { $0.key < $1.key }) {
            let ends = call.events.count { $0.type == .callEnded }
            let begins = call.events.count { $0.type == .callStarted }
            if begins != 1 || ends != 1 {
                fail("I25", "call number \(number.rawValue) has \(begins) call.started and \(ends) call.ended")
            }
        }
    }

    // MARK: The feed

    /// Checks a page of the feed; returns the positions of its events.
    mutating func read(_ bodies: [[UInt8]], _ asked: Switchboard.FeedRead, upTo next: EventCursor) -> [EventPosition] {
        let first = asked.after?.position ?? .start
        var positions: [EventPosition] = []
        for body in bodies {
            guard let id = MessageReader.object(body)?.text(of: .id), let position = Int64(id.dropFirst(6)),
                let event = event(at: EventPosition(rawValue: position))
            else {
                fail("I27", "the feed shows an event that is not durable")
                return positions
            }
            if let message = fault(in: body, of: event) { fail("I27", "\(id) in the feed: \(message)") }
            if event.position <= positions.last ?? first { fail("I27", "the feed shows \(id) out of order") }
            if let types = asked.types, !types.contains(event.type) {
                fail("I27", "the feed shows \(event.type.rawValue)")
            }
            positions.append(event.position)
        }
        if next.position < positions.last ?? first || next.position > newest {
            fail("I27", "the feed goes on after \(next.text), and the newest event is \(newest.rawValue)")
        }
        let shown = Set(positions)
        for event in events[min(events.count, Int(first.rawValue))..<min(events.count, Int(next.position.rawValue))]
        where !shown.contains(event.position) && !deleted.contains(event.position) {
            guard asked.types?.contains(event.type) ?? true else { continue }
            fail("I27", "the feed does not show \(event.id)")
        }
        return positions
    }

    /// Checks that events after a reader's place were deleted, when it is told that its place is gone.
    mutating func checkGone(_ cursor: EventCursor?, oldest: EventCursor) {
        let first = cursor?.position ?? .start
        let isGone = oldest.position > first && deleted.contains { $0 > first && $0 <= oldest.position }
        if !isGone { fail("I27", "the place \(first.rawValue) of the feed is gone, and all events after it are there") }
    }

    /// Checks that a reader that began at the beginning has found every event that is stored.
    mutating func checkWholeFeed(_ found: [EventPosition]) {
        let stored = events.map(\.position).filter { !deleted.contains($0) }
        if found != stored { fail("I27", "the feed has \(found.count) events, and the store \(stored.count)") }
    }
}
