/// A queue to one thread, the consumer: any thread adds elements without waiting, and the consumer takes all of them
/// together.
///
/// The consumer waits in ``takeAll()``. A consumer that waits for something else as well, such as sockets, is woken by
/// a function that it has set (``setWakeFunction(_:)``), and calls ``take()``.
///
/// Elements can have weights, and the sum of the weights can have a limit. The elements that the consumer took last
/// count towards the limit until the consumer takes again.
package final class Inbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var weight = 0
        var takenWeight = 0
        var refused: UInt64 = 0
        var reportedRefusedCount: UInt64 = 0
        var isClosed = false
        var wake: (@Sendable () -> Void)?

        mutating func takeElements() -> [Element] {
            var taken: [Element] = []
            swap(&taken, &elements)
            (takenWeight, weight) = (weight, 0)
            return taken
        }
    }

    private let limit: Int
    private let state = Monitor(State())

    /// Creates an empty inbox with a limit on the total weight, in the unit of the weights given to ``put(_:weight:)``.
    package init(limit: Int = .max) { self.limit = limit }

    /// Adds an element and returns `true`; if there is no room or the inbox is closed, counts the element as refused
    /// and returns `false`.
    @discardableResult
    package func put(_ element: Element, weight: Int = 1) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.weight + state.takenWeight + weight <= limit else {
                state.refused += 1
                return false
            }
            state.elements.append(element)
            state.weight += weight
            // One call of `wake` is enough for all elements that are added before the consumer takes them.
            if state.elements.count == 1 { state.wake?() }
            return true
        }
    }

    /// The number of elements that were refused since the inbox was created.
    package var refusedCount: UInt64 { state.withLock { $0.refused } }

    /// Waits for elements or refusals, and takes all elements.
    /// - Returns: The elements, and the number of elements refused since the last call; `nil` once the inbox is closed
    ///   and empty.
    package func takeAll() -> (elements: [Element], refused: UInt64)? {
        state.wait { state -> (elements: [Element], refused: UInt64)?? in
            state.takenWeight = 0
            guard !state.elements.isEmpty || state.refused != state.reportedRefusedCount else {
                return state.isClosed ? .some(nil) : nil
            }
            defer { state.reportedRefusedCount = state.refused }
            return (state.takeElements(), state.refused - state.reportedRefusedCount)
        }
    }

    /// Takes all elements without waiting.
    /// - Returns: The elements, and whether the inbox is closed.
    package func take() -> (elements: [Element], isClosed: Bool) {
        state.withLock { ($0.takeElements(), $0.isClosed) }
    }

    /// Sets the function that wakes the consumer.
    ///
    /// The function is called when an element is added to an empty inbox, when the inbox is closed, and immediately if
    /// the inbox is not empty or is closed already. It is called while the inbox is locked, so it must not access the
    /// inbox. For the same reason, the previous function is not called any more when this method has returned.
    package func setWakeFunction(_ function: (@Sendable () -> Void)?) {
        state.withLock { state in
            state.wake = function
            if !state.elements.isEmpty || state.isClosed { function?() }
        }
    }

    /// Refuses all further elements; the consumer gets the remaining elements, and then learns that the inbox is
    /// closed.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            state.wake?()
        }
    }
}
