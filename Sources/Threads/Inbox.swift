/// A bounded queue to one thread: any thread puts without waiting, one thread takes all that there is.
///
/// A batch in the taker's hands counts until it comes back for more, so that the limit holds for both together.
package final class Inbox<Element: Sendable>: @unchecked Sendable {
    // @unchecked: everything below is touched with `condition` locked.
    private let condition = Condition()
    private let limit: Int
    private var elements: [Element] = []
    private var weight = 0
    private var weightInHand = 0
    private var refused: UInt64 = 0
    private var refusedTold: UInt64 = 0
    private var isTakerWaiting = false
    private var isClosed = false

    /// An empty one that takes so much weight, in whatever unit it is put with.
    package init(limit: Int) { self.limit = limit }

    /// Puts an element in, unless there is no room for it; then it is counted.
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

    /// How many elements there was no room for.
    package var refusedCount: UInt64 {
        condition.lock()
        defer { condition.unlock() }
        return refused
    }

    /// Waits for elements, and takes them all; with how many were refused behind them.
    /// - Returns: `nil` once it is closed and empty.
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

    /// Takes nothing more in; the taker gets what is left, and then `nil`.
    package func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }
}
