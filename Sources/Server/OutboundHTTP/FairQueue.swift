import DequeModule

/// A queue that serves its parties in turn, and each party's elements in order.
///
/// A party that queues a thousand elements delays the elements of another one by one turn.
struct FairQueue<Party: Hashable, Element> {
    private var queues: [Party: Deque<Element>] = [:]
    /// The parties that have elements, in the order in which they are served.
    private var turns: Deque<Party> = []

    /// Adds an element behind the party's others.
    mutating func append(_ element: Element, of party: Party) {
        if queues[party] == nil { turns.append(party) }
        queues[party, default: []].append(element)
    }

    /// Puts an element back that was taken before its time: it is the next one.
    mutating func putBack(_ element: Element, of party: Party) {
        if queues[party] == nil { turns.prepend(party) }
        queues[party, default: []].prepend(element)
    }

    /// Removes and returns the next element of a party that may be served; nil if there is none.
    mutating func popFirst(where isServed: (Party) -> Bool = { _ in true }) -> Element? {
        guard let place = turns.firstIndex(where: isServed) else { return nil }
        let party = turns.remove(at: place)
        let element = queues[party]?.popFirst()
        if queues[party]?.isEmpty ?? true {
            queues[party] = nil
        } else {
            turns.append(party)
        }
        return element
    }

    /// Removes and returns all elements.
    mutating func removeAll() -> [Element] {
        defer { self = Self() }
        return turns.flatMap { queues[$0] ?? [] }
    }
}
