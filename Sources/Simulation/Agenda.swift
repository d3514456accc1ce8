/// What is going to happen, in the order of time; what is due at the same moment happens in the order it was planned.
struct Agenda<Event> {
    private struct Item {
        let at: Int64
        let order: UInt64
        let event: Event

        func isBefore(_ other: Item) -> Bool { at != other.at ? at < other.at : order < other.order }
    }

    private var items: [Item] = []
    private var planned: UInt64 = 0

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }
    /// When the next thing happens.
    var next: Int64? { items.first?.at }

    mutating func plan(_ event: Event, at moment: Int64) {
        planned += 1
        items.append(Item(at: moment, order: planned, event: event))
        var index = items.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard items[index].isBefore(items[parent]) else { return }
            items.swapAt(index, parent)
            index = parent
        }
    }

    mutating func takeNext() -> (at: Int64, event: Event)? {
        guard let first = items.first, let last = items.popLast() else { return nil }
        if items.isEmpty { return (first.at, first.event) }
        items[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < items.count && items[child].isBefore(items[least])
            {
                least = child
            }
            if least == index { break }
            items.swapAt(index, least)
            index = least
        }
        return (first.at, first.event)
    }
}
