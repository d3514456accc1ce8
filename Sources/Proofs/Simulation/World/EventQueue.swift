import HeapModule

/// The planned events in order of time.
///
/// Events for the same moment happen in the order in which they were planned.
struct EventQueue<Event> {
    /// An item of the heap: plain numbers, so that the heap moves no event when it moves an item.
    private struct Item: Comparable {
        let at: Int64
        let order: UInt64
        let slot: Int

        // No two items are equal, so the order does not depend on how the heap is built.
        static func < (a: Item, b: Item) -> Bool { a.at != b.at ? a.at < b.at : a.order < b.order }
    }

    private var items = Heap<Item>()
    private var events: [Event?] = []
    private var freeSlots: [Int] = []
    private var planned: UInt64 = 0

    mutating func plan(_ event: Event, at moment: Int64) {
        planned += 1
        let slot = freeSlots.popLast() ?? events.count
        if slot == events.count { events.append(event) } else { events[slot] = event }
        items.insert(Item(at: moment, order: planned, slot: slot))
    }

    mutating func takeNext() -> (at: Int64, event: Event)? {
        guard let first = items.popMin(), let event = events[first.slot] else { return nil }
        events[first.slot] = nil
        freeSlots.append(first.slot)
        return (first.at, event)
    }
}
