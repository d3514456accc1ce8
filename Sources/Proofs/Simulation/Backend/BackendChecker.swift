import CallCore
import CallPorts
import CallWire
import JSON
import Switchboard

/// An event for the app's backend, as the server stores it; ``AppEvent`` is one of a simulated app.
typealias StoredEvent = CallPorts.AppEvent

/// Checks the events for the app's backend: what is durable of them, what is sent, and what is read (I22 to I29).
///
/// It knows the durable changes, and shares no code with the server's events and their delivery.
struct BackendChecker {
    let policy: EventPolicy
    private(set) var violation: (invariant: String, message: String)?
    /// All events that ever were durable, in the order of their positions.
    private(set) var events: [StoredEvent] = []
    /// When each of them became durable.
    private(set) var durableAt: [Int64] = []
    /// The positions of those that were deleted.
    private(set) var deleted: Set<EventPosition> = []
    private(set) var calls: [CallNumber: ToldCall] = [:]
    var endpoints: [String: ToldEndpoint] = [:]
    /// The offers that were refused.
    private var refused: Set<CallNumber> = []

    init(_ policy: EventPolicy) {
        self.policy = policy
        for url in policy.endpoints { endpoints[url] = ToldEndpoint() }
    }

    mutating func fail(_ invariant: String, _ message: String) {
        if violation == nil { violation = (invariant, message) }
    }

    /// The position of the newest durable event.
    var newest: EventPosition { EventPosition(rawValue: Int64(events.count)) }

    func event(at position: EventPosition) -> StoredEvent? {
        let index = Int(position.rawValue) - 1
        return events.indices.contains(index) ? events[index] : nil
    }

    /// Returns the event that a request brings, by its id alone; `nil` = none has this id.
    func event(_ request: EventRequest) -> StoredEvent? {
        let parts = request.eventID.split(separator: "_")
        guard parts.count == 3, parts[0] == "evt", parts[1] == "1", let position = Int64(parts[2]) else { return nil }
        return event(at: EventPosition(rawValue: position))
    }

    // MARK: Durable changes

    /// Takes a batch that has become durable as a whole.
    ///
    /// `secrets`: What no event may show.
    mutating func durable(_ batch: [Change], at now: Int64, secrets: [[UInt8]]) {
        var changed: Set<CallNumber> = []
        var lost = 0
        var told = 0
        for change in batch {
            switch change {
            case .call(let record) where record.hidden == .refusedOffer: refused.insert(record.number)
            case .call(let record):
                calls[record.number, default: ToldCall()].take(record)
                changed.insert(record.number)
            case .entry(let number, let entry):
                guard case .signal(.ringing, _, _, _, _) = entry.entry.content else { continue }
                calls[number, default: ToldCall()].hasRung = true
                changed.insert(number)
            case .appEvent(let event):
                if event.type == .eventsLost { told += lostCount(in: event) }
                add(event, at: now, secrets)
                if let call = event.call { changed.insert(call) }
            case .eventEndpoint(let row): endpoints[row.url]?.isStopped = row.stoppedAt != nil
            case .eventHeld(let held): hold(held, at: now)
            case .eventReleased(let url, let position): endpoints[url]?.held[position] = nil
            case .eventsForgotten(let position, let keepsHeld): lost += forget(upTo: position, keepsHeld)
            default: break
            }
        }
        for number in changed.sorted() { check(number) }
        if lost > told {
            fail("I23", "\(lost) events were deleted before they were delivered, and \(told) were told")
        }
    }

    private mutating func add(_ event: StoredEvent, at now: Int64, _ secrets: [[UInt8]]) {
        let expected = newest.next
        guard event.position == expected else {
            return fail("I22", "\(event.type.rawValue) has position \(event.position.rawValue), after \(events.count)")
        }
        events.append(event)
        durableAt.append(now)
        if event.type != .eventsLost, !policy.types.contains(event.type) {
            fail("I22", "nobody wants \(event.type.rawValue)")
        }
        if let secret = Self.secret(in: event.data, of: secrets) { fail("I29", "\(event.id) shows \(secret)") }
        guard let call = event.call else {
            if event.type.rawValue.hasPrefix("call.") { fail("I26", "\(event.id) names no call") }
            return
        }
        if refused.contains(call) { return fail("I31", "\(event.id) is of an offer that was refused") }
        calls[call, default: ToldCall()].add(event)
    }

    /// Checks that a call has the events of its durable record, and no others.
    private mutating func check(_ number: CallNumber) {
        guard var call = calls[number] else { return }
        defer { calls[number] = call }
        if let (invariant, message) = call.fault { fail(invariant, message) }
        guard let record = call.record else {
            if let event = call.events.first { fail("I22", "\(event.id) is of a call that is not stored") }
            return
        }
        let name = "\(record.id.text)/\(record.epoch)"
        for type in ToldCall.decided where policy.types.contains(type) {
            let isDecided = call.isDecided(type)
            guard isDecided != call.has(type) else { continue }
            let word = isDecided ? "is durable, and its event is not" : "is not durable, and its event is"
            fail("I22", "\(type.rawValue) of \(name) \(word)")
        }
        if let (invariant, message) = call.checkNewEvents() { fail(invariant, message) }
    }

    // MARK: Held and deleted events

    private mutating func hold(_ held: HeldEvent, at now: Int64) {
        guard held.state == .parked else {
            endpoints[held.url]?.held[held.position] = false
            return
        }
        endpoints[held.url]?.held[held.position] = true
        // A clock that is wrong may make the three days shorter.
        guard now - Course.startTime < 3 * 86_400_000 - 60_000 else { return }
        fail("I23", "event \(held.position.rawValue) is parked after \((now - Course.startTime) / 1_000) s")
    }

    /// Deletes events, and returns how many of them were not delivered to every endpoint.
    private mutating func forget(upTo last: EventPosition, _ keepsHeld: Bool) -> Int {
        var lost = 0
        for value in 1...max(1, last.rawValue) {
            let position = EventPosition(rawValue: value)
            guard position < newest, position <= last, !deleted.contains(position) else { continue }
            if keepsHeld, endpoints.values.contains(where: { $0.held[position] != nil }) { continue }
            deleted.insert(position)
            if endpoints.values.contains(where: { !$0.taken.contains(position) }) { lost += 1 }
            for url in endpoints.keys { endpoints[url]?.held[position] = nil }
        }
        return lost
    }

    private func lostCount(in event: StoredEvent) -> Int {
        MessageReader.object(event.data)?.number(of: Key("count")).map { Int($0) } ?? 0
    }

    // MARK: Secrets

    /// What no event may show, whatever the world: a description, a candidate, an address.
    private static let shapes = ["v=0", "IN IP4", "candidate:", "0.0.0.0", "\"sdp\"", "https://", "\"token\""].map {
        Array($0.utf8)
    }

    private static func secret(in data: [UInt8], of secrets: [[UInt8]]) -> String? {
        for secret in shapes + secrets where contains(data, secret) { return String(decoding: secret, as: UTF8.self) }
        return nil
    }

    private static func contains(_ data: [UInt8], _ part: [UInt8]) -> Bool {
        guard let first = part.first, data.count >= part.count else { return false }
        var index = 0
        let last = data.count - part.count
        while index <= last {
            if data[index] == first, data[index...].starts(with: part) { return true }
            index += 1
        }
        return false
    }
}
