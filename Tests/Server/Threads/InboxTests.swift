import Testing
import Threads

@Suite("A queue to one thread")
struct InboxTests {
    @Test("The queue returns its elements in order, and refuses elements over its limit or after its close")
    func order() throws {
        let inbox = Inbox<Int>(limit: 10)
        for number in 0..<4 { #expect(inbox.put(number, weight: 3) == (number < 3)) }
        let first = try #require(inbox.takeAll())
        #expect(first.elements == [0, 1, 2] && first.refused == 1)
        #expect(inbox.refusedCount == 1)
        #expect(!inbox.put(4, weight: 3), "taken elements count towards the limit until the next `takeAll`")
        #expect(inbox.put(5, weight: 1))
        let second = try #require(inbox.takeAll())
        #expect(second.elements == [5] && second.refused == 1)
        #expect(inbox.put(6, weight: 9))
        inbox.close()
        #expect(!inbox.put(7, weight: 1))
        #expect(inbox.takeAll()?.elements == [6])
        #expect(inbox.takeAll() == nil)
    }

    @Test("A refusal is reported even if the queue is empty")
    func refusedAlone() throws {
        let inbox = Inbox<Int>(limit: 1)
        #expect(!inbox.put(0, weight: 2))
        let taken = try #require(inbox.takeAll())
        #expect(taken.elements.isEmpty && taken.refused == 1)
    }

    @Test("The queue wakes the thread that takes, and loses no element")
    func threads() throws {
        let inbox = Inbox<Int>(limit: .max)
        let sum = Monitor((count: 0, isOrdered: true, last: [Int](repeating: -1, count: 4)))
        let taker = try WorkThread(named: "taker") {
            while let taken = inbox.takeAll() {
                sum.withLock { sum in
                    for element in taken.elements {
                        sum.count += 1
                        let (thread, number) = (element % 4, element / 4)
                        sum.isOrdered = sum.isOrdered && number == sum.last[thread] + 1
                        sum.last[thread] = number
                    }
                }
            }
        }
        let putters = try (0..<4).map { thread in
            try WorkThread(named: "putter") { for number in 0..<5_000 { inbox.put(number * 4 + thread, weight: 1) } }
        }
        for putter in putters { putter.join() }
        inbox.close()
        taker.join()
        #expect(sum.withLock { $0.count } == 20_000 && sum.withLock { $0.isOrdered })
    }

    @Test("The wake function is called if elements wait when it is set, when an empty inbox gets one, and at the close")
    func wakeFunction() {
        let inbox = Inbox<Int>()
        let calls = Monitor(0)
        inbox.put(0)
        inbox.setWakeFunction { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 1, "an element was already there")
        inbox.put(1)
        #expect(calls.withLock { $0 } == 1, "one call is enough")
        #expect(inbox.take().elements == [0, 1])
        inbox.put(2)
        inbox.close()
        #expect(calls.withLock { $0 } == 3)
        let last = inbox.take()
        #expect(last.elements == [2] && last.isClosed)
    }

    @Test("A wake function that was removed is not called any more")
    func noWakeFunction() {
        let inbox = Inbox<Int>()
        let calls = Monitor(0)
        inbox.setWakeFunction { calls.withLock { $0 += 1 } }
        inbox.setWakeFunction(nil)
        inbox.put(0)
        inbox.close()
        #expect(calls.withLock { $0 } == 0)
        #expect(inbox.take().elements == [0])
    }
}
