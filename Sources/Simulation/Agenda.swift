/// The planned events in order of time.
///
/// Events for the same moment happen in the order in which they were planned.
struct Agenda<Event> {
    /// An item of the heap: plain numbers, so that moving an item moves no event.
    private struct Item {
        let at: Int64
        let order: UInt64
        let slot: Int

        func isBefore(_ other: Item) -> Bool { at != other.at ? at < other.at : order < other.order }
    }

    private var items: [Item] = []
    private var events: [Event?] = []
    private var freeSlots: [Int] = []
    private var planned: UInt64 = 0

    mutating func plan(_ event: Event, at moment: Int64) {
        planned += 1
        let slot = freeSlots.popLast() ?? events.count
        if slot == events.count { events.append(event) } else { events[slot] = event }
        let item = Item(at: moment, order: planned, slot: slot)
        items.append(item)
        var index = items.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard item.isBefore(items[parent]) else { break }
            items[index] = items[parent]
            index = parent
        }
        items[index] = item
    }

    mutating func takeNext() -> (at: Int64, event: Event)? {
        guard let first = items.first, let last = items.popLast(), let event = events[first.slot] else { return nil }
        events[first.slot] = nil
        freeSlots.append(first.slot)
        if items.isEmpty { return (first.at, event) }
        var index = 0
        while true {
            var child = 2 * index + 1
            guard child < items.count else { break }
            if child + 1 < items.count, items[child + 1].isBefore(items[child]) { child += 1 }
            guard items[child].isBefore(last) else { break }
            items[index] = items[child]
            index = child
        }
        items[index] = last
        return (first.at, event)
    }
}
