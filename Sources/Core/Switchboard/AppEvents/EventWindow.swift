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
        /// The positions of the events; the first one may be on its way.
        var positions: Deque<EventPosition>

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

    private let limits: DeliveryLimits
    /// Every event up to this position was in the window.
    var readUpTo: EventPosition
    private var slots = Deque<(position: EventPosition, entry: Entry?)>()
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
    var first: Entry? { slots.first?.entry }

    /// Whether an event may be added after ``readUpTo``.
    var hasRoom: Bool { count < limits.window && span < limits.span }

    private var span: Int64 { slots.isEmpty ? 0 : readUpTo.rawValue - emptyUpTo.rawValue }

    /// Adds an event behind all others; `state`: that of its line if it is the first one there.
    mutating func append(_ event: AppEvent, _ key: EventKey, _ state: Line.State) {
        slots.append((event.position, Entry(event: event)))
        count += 1
        if lines[key] == nil {
            lines[key] = Line(state: state, positions: [event.position])
            if state == .ready { addTurn(key) }
        } else {
            lines[key]?.positions.append(event.position)
        }
    }

    /// The event at a position.
    subscript(position: EventPosition) -> Entry? {
        get { index(of: position).flatMap { slots[$0].entry } }
        set {
            guard let newValue, let index = index(of: position), slots[index].entry != nil else { return }
            slots[index].entry = newValue
        }
    }

    /// Sets what the first event of a key waits for.
    mutating func set(_ key: EventKey, _ state: Line.State) {
        guard let line = lines[key], line.state != state else { return }
        lines[key]?.state = state
        if state == .ready { addTurn(key) }
    }

    /// Returns the next key whose turn it is, and the position of its first event.
    mutating func takeTurn() -> (key: EventKey, position: EventPosition)? {
        while let key = turns.popFirst() {
            if let line = lines[key], line.state == .ready, let position = line.positions.first {
                return (key, position)
            }
        }
        return nil
    }

    /// Whether there is a key whose first event was not tried yet.
    var hasUntried: Bool {
        lines.values.contains { line in line.positions.first.flatMap { self[$0]?.attempts } == 0 }
    }

    /// Whether it is the turn of a key.
    mutating func hasTurn() -> Bool {
        while let key = turns.first, lines[key]?.state != .ready { turns.removeFirst() }
        return !turns.isEmpty
    }

    /// Removes the first event of a key and returns it.
    mutating func removeFirst(of key: EventKey) -> Entry? {
        guard let position = lines[key]?.positions.popFirst() else { return nil }
        if lines[key]?.positions.isEmpty ?? true { lines[key] = nil }
        return remove(position)
    }

    /// Removes the events of a key and returns them, in the order of their positions.
    mutating func removeAll(of key: EventKey, keepingFirst: Bool = false) -> [Entry] {
        guard var line = lines.removeValue(forKey: key) else { return [] }
        if keepingFirst, let first = line.positions.popFirst() {
            lines[key] = Line(state: line.state, positions: [first])
        }
        return line.positions.compactMap { remove($0) }
    }

    private mutating func remove(_ position: EventPosition) -> Entry? {
        guard let index = index(of: position), let entry = slots[index].entry else { return nil }
        slots[index].entry = nil
        count -= 1
        while let first = slots.first, first.entry == nil { slots.removeFirst() }
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
