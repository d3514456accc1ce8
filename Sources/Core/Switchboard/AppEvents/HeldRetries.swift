import CallCore
import CallPorts

/// The held events in memory that wait for their next attempt: those that are due soonest.
struct HeldRetries {
    /// A held event.
    struct Entry {
        var held: HeldEvent
        let event: AppEvent
        let key: EventKey
    }

    /// An event's place in the order of attempts.
    private struct Place: Comparable {
        let at: Moment
        let position: EventPosition

        static func < (a: Self, b: Self) -> Bool { a.at == b.at ? a.position < b.position : a.at < b.at }
    }

    /// The largest number of events in memory.
    private let limit: Int
    /// Every held event whose attempt is due up to this moment is in memory.
    private(set) var horizon: Moment
    private var entries: [EventPosition: Entry] = [:]
    private var places: [EventPosition: Place] = [:]
    /// The events that are not on their way, in the order of attempts.
    private var order: [Place] = []
    /// The positions of users' events, in order.
    private var users: [EventKey: [EventPosition]] = [:]

    /// No event is in memory; `isComplete`: nor in the store.
    init(isComplete: Bool, limit: Int) {
        horizon = Moment(milliseconds: isComplete ? .max : .min)
        self.limit = limit
    }

    /// Whether more is to be read from the store.
    var wantsMore: Bool {
        horizon.milliseconds != .max && index(of: Place(at: horizon, position: .start)) < limit / 2
    }

    /// The number of events in memory.
    var count: Int { entries.count }

    /// The event at a position.
    subscript(position: EventPosition) -> Entry? { entries[position] }

    /// When the next attempt is due, and of which event.
    var next: (at: Moment, position: EventPosition)? { order.first.map { ($0.at, $0.position) } }

    /// When the oldest of the events happened.
    var oldest: Moment? { entries.values.map(\.event.at).min() }

    /// The last moment up to which attempts of a user's events in memory wait; `nil` = none is in memory.
    func lastAttempt(of key: EventKey) -> Moment? {
        guard let positions = users[key] else { return nil }
        return positions.compactMap { places[$0]?.at ?? entries[$0]?.retryAt }.max()
    }

    /// When the next attempt of an event is due; `nil` = it is on its way, or not in memory.
    func attempt(of position: EventPosition) -> Moment? { places[position]?.at }

    /// The events in memory up to a position, in order.
    func positions(upTo last: EventPosition) -> [EventPosition] { entries.keys.filter { $0 <= last }.sorted() }

    /// The first event of a user in memory.
    func first(of key: EventKey) -> EventPosition? { users[key]?.first }

    /// Takes an event into memory, or replaces it, if it is due soon enough; else it is in the store only.
    mutating func insert(_ held: HeldEvent, _ event: AppEvent) {
        guard case .retry(let at) = held.state, at <= horizon else {
            remove(held.position)
            return
        }
        let key = EventKey(held, event)
        if entries.updateValue(Entry(held: held, event: event, key: key), forKey: held.position) == nil,
            case .user = key
        {
            let index = users[key]?.firstIndex { held.position < $0 } ?? users[key]?.count ?? 0
            users[key, default: []].insert(held.position, at: index)
        }
        setAttempt(of: held.position, at)
        while entries.count > limit, let last = order.last {
            remove(last.position)
            horizon = min(horizon, last.at - .milliseconds(1))
        }
    }

    /// Sets when the next attempt of an event in memory is due.
    mutating func setAttempt(of position: EventPosition, _ at: Moment) {
        guard entries[position] != nil else { return }
        takeFromOrder(position)
        let place = Place(at: at, position: position)
        places[position] = place
        order.insert(place, at: index(of: place))
    }

    /// Takes an event out of the order of attempts: it is on its way.
    mutating func takeFromOrder(_ position: EventPosition) {
        guard let place = places.removeValue(forKey: position) else { return }
        order.remove(at: index(of: place))
    }

    /// Removes an event from memory.
    mutating func remove(_ position: EventPosition) {
        takeFromOrder(position)
        guard let entry = entries.removeValue(forKey: position), case .user = entry.key else { return }
        users[entry.key]?.removeAll { $0 == position }
        if users[entry.key]?.isEmpty ?? false { users[entry.key] = nil }
    }

    /// A read of the store begins: what is held meanwhile goes to memory, because the read may not see it.
    ///
    /// Returns the horizon, to which ``endReading(upTo:)`` goes back if the read fails.
    mutating func beginReading() -> Moment {
        defer { horizon = Moment(milliseconds: .max) }
        return horizon
    }

    /// A read of the store has ended: every event up to this moment was in it.
    mutating func endReading(upTo moment: Moment) { horizon = min(horizon, moment) }

    /// Moves attempts that are later than a moment to it: the clock was set back.
    mutating func clamp(to latest: Moment) {
        for place in order.reversed() where place.at > latest { setAttempt(of: place.position, latest) }
    }

    private func index(of place: Place) -> Int {
        var (low, high) = (0, order.count)
        while low < high {
            let middle = (low + high) / 2
            if order[middle] < place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension HeldRetries.Entry {
    /// The moment of the next attempt, as it is stored.
    fileprivate var retryAt: Moment? { if case .retry(let at) = held.state { at } else { nil } }
}
