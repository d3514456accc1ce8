import CallCore
import CallPorts
import DequeModule

/// What events are delivered in the order of: the events of one key are sent one after the other.
enum EventKey: Hashable {
    /// The events of a call.
    case call(CallNumber)
    /// The events of a user that are about no call.
    case user(UserID)
    /// An event that has no order with any other.
    case alone(EventPosition)

    /// The key of an event.
    init(_ event: AppEvent) {
        if let call = event.call {
            self = .call(call)
        } else if let user = event.user {
            self = .user(user)
        } else {
            self = .alone(event.position)
        }
    }

    /// The key of a held event.
    ///
    /// An event of a call that is held without its call is one that was accepted before, and is sent again: it waits for
    /// no event of its call, and none waits for it.
    init(_ held: HeldEvent, _ event: AppEvent) {
        self = held.call == nil && event.call != nil ? .alone(held.position) : EventKey(event)
    }

    /// Adds the key to a hash: one number of it, because a key is looked up several times for each event.
    func hash(into hasher: inout Hasher) {
        switch self {
        case .call(let call): hasher.combine(call.rawValue)
        case .user(let user): user.hash(into: &hasher)
        case .alone(let position): hasher.combine(~position.rawValue)
        }
    }

    /// The call, if the key is one's.
    var call: CallNumber? { if case .call(let call) = self { call } else { nil } }
}

/// The events in memory that wait to be sent to an endpoint, or are on their way, in the order of their positions; each
/// in the line of its key.
struct EventWindow {
    /// An event that waits or is on its way.
    struct Entry {
        let event: AppEvent
        /// The number of failed attempts.
        var attempts = 0
        /// When the event was first tried; `nil` = not yet.
        var since: Moment?
        /// The moment before which the endpoint does not want the event; `nil` = it named none.
        var notBefore: Moment?
    }

    /// The events of one key, and what the first of them waits for.
    struct Line {
        var state: State
        /// The position of the first event, which may be on its way.
        var first: EventPosition
        /// The positions of the others; a line with one event has no memory of its own.
        var others = Deque<EventPosition>()

        enum State: Equatable {
            /// Its turn.
            case ready
            /// The end of a delivery of the key.
            case busy
            /// The moment of its next attempt.
            case failed(retryAt: Moment)
            /// The store's answer: whether an earlier event of the call is held.
            case unknown
        }
    }

    private struct Slot {
        let position: EventPosition
        var isEmpty = false
    }

    private let limits: DeliveryLimits
    /// Every event up to this position was in the window.
    var readUpTo: EventPosition
    /// The places of the events, in the order of their positions.
    private var slots = Deque<Slot>()
    /// The event of each slot; `nil` if that is empty.
    ///
    /// They are apart, so that a search copies no event.
    private var entries = Deque<Entry?>()
    private(set) var lines: [EventKey: Line] = [:]
    /// The keys whose turn it is, in that order.
    ///
    /// A key may be there that has no line any more, or is not ready.
    private var turns = Deque<EventKey>()
    /// The number of events.
    private(set) var count = 0

    /// An empty window that begins after a position.
    init(after position: EventPosition, _ limits: DeliveryLimits) {
        readUpTo = position
        self.limits = limits
    }

    /// The last position before the first event of the window.
    var emptyUpTo: EventPosition { slots.first.map { EventPosition(rawValue: $0.position.rawValue - 1) } ?? readUpTo }

    /// The first event.
    var first: Entry? { entries.first ?? nil }

    /// Whether an event may be added after ``readUpTo``.
    var hasRoom: Bool { count < limits.window && span < limits.span }

    private var span: Int64 { slots.isEmpty ? 0 : readUpTo.rawValue - emptyUpTo.rawValue }

    /// Adds an event behind all others; `state`: that of its line if it is the first one there.
    mutating func append(_ event: AppEvent, _ key: EventKey, _ state: Line.State) {
        slots.append(Slot(position: event.position))
        entries.append(Entry(event: event))
        count += 1
        // The line is changed in its place: a subscript with `?` would allocate each time, here and below.
        if let index = lines.index(forKey: key) {
            lines.values[index].others.append(event.position)
        } else {
            lines[key] = Line(state: state, first: event.position)
            if state == .ready { addTurn(key) }
        }
    }

    /// The event at a position.
    subscript(position: EventPosition) -> Entry? {
        get { index(of: position).flatMap { entries[$0] } }
        set {
            guard let newValue, let index = index(of: position), !slots[index].isEmpty else { return }
            entries[index] = newValue
        }
    }

    /// Sets what the first event of a key waits for.
    mutating func set(_ key: EventKey, _ state: Line.State) {
        guard let index = lines.index(forKey: key), lines.values[index].state != state else { return }
        lines.values[index].state = state
        if state == .ready { addTurn(key) }
    }

    /// Returns the next key whose turn it is, and the position of its first event.
    mutating func takeTurn() -> (key: EventKey, position: EventPosition)? {
        while let key = turns.popFirst() {
            if let line = lines[key], line.state == .ready { return (key, line.first) }
        }
        return nil
    }

    /// Whether there is a key whose first event was not tried yet.
    var hasUntried: Bool {
        lines.values.contains { self[$0.first]?.attempts == 0 }
    }

    /// Whether it is the turn of a key.
    mutating func hasTurn() -> Bool {
        while let key = turns.first, lines[key]?.state != .ready { turns.removeFirst() }
        return !turns.isEmpty
    }

    /// Removes the first event of a key and returns it.
    mutating func removeFirst(of key: EventKey) -> Entry? {
        guard let index = lines.index(forKey: key) else { return nil }
        let position = lines.values[index].first
        if let next = lines.values[index].others.popFirst() {
            lines.values[index].first = next
        } else {
            lines.remove(at: index)
        }
        return remove(position)
    }

    /// Removes the events of a key and returns them, in the order of their positions.
    mutating func removeAll(of key: EventKey, keepingFirst: Bool = false) -> [Entry] {
        guard let line = lines.removeValue(forKey: key) else { return [] }
        let first = keepingFirst ? nil : remove(line.first)
        if keepingFirst { lines[key] = Line(state: line.state, first: line.first) }
        return (first.map { [$0] } ?? []) + line.others.compactMap { remove($0) }
    }

    private mutating func remove(_ position: EventPosition) -> Entry? {
        guard let index = index(of: position), !slots[index].isEmpty else { return nil }
        var entry: Entry?
        swap(&entry, &entries[index])
        slots[index].isEmpty = true
        count -= 1
        while let first = slots.first, first.isEmpty {
            slots.removeFirst()
            entries.removeFirst()
        }
        return entry
    }

    private mutating func addTurn(_ key: EventKey) {
        if turns.count > 2 * lines.count + 64 {
            var seen: Set<EventKey> = []
            turns = Deque(turns.filter { lines[$0]?.state == .ready && seen.insert($0).inserted })
        }
        turns.append(key)
    }

    private func index(of position: EventPosition) -> Int? {
        var (low, high) = (0, slots.count)
        while low < high {
            let middle = (low + high) / 2
            if slots[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low < slots.count && slots[low].position == position ? low : nil
    }
}
