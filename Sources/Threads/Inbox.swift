/// A bounded queue to one thread: any thread adds without waiting, and one thread takes all elements together.
///
/// The batch that the consumer took counts towards the limit until it comes back for more, so the limit covers both
/// together.
package final class Inbox<Element: Sendable>: @unchecked Sendable {
    // @unchecked: everything below is touched only while `condition` is locked.
    private let condition = Condition()
    private let limit: Int
    private var elements: [Element] = []
    private var weight = 0
    private var weightInHand = 0
    private var refused: UInt64 = 0
    private var refusedTold: UInt64 = 0
    private var isTakerWaiting = false
    private var isClosed = false

    /// Creates an empty inbox with a limit on the total weight, in the unit that the callers of ``put(_:weight:)`` use.
    package init(limit: Int) { self.limit = limit }

    /// Adds an element, or counts it as refused if there is no room for it or the inbox is closed.
    @discardableResult
    package func put(_ element: Element, weight more: Int) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        let hasRoom = !isClosed && weight + weightInHand + more <= limit
        if hasRoom {
            elements.append(element)
            weight += more
        } else {
            refused += 1
        }
        if isTakerWaiting {
            isTakerWaiting = false
            condition.signal()
        }
        return hasRoom
    }

    /// The number of elements that were refused.
    package var refusedCount: UInt64 {
        condition.lock()
        defer { condition.unlock() }
        return refused
    }

    /// Waits for elements or refusals, and takes all elements.
    /// - Returns: The elements, and the number of elements refused since the last call; `nil` once the inbox is closed
    ///   and empty.
    package func takeAll() -> (elements: [Element], refused: UInt64)? {
        condition.lock()
        defer { condition.unlock() }
        weightInHand = 0
        while elements.isEmpty, refused == refusedTold, !isClosed {
            isTakerWaiting = true
            condition.wait()
        }
        isTakerWaiting = false
        guard !elements.isEmpty || refused != refusedTold else { return nil }
        var taken: [Element] = []
        swap(&taken, &elements)
        (weightInHand, weight) = (weight, 0)
        defer { refusedTold = refused }
        return (taken, refused - refusedTold)
    }

    /// Refuses all further elements; the consumer gets the remaining ones, and then `nil`.
    package func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }
}
