import Testing
import Threads

@Suite("A monitor")
struct MonitorTests {
    @Test("A thread waits until a change by another thread makes its condition true")
    func waits() throws {
        let monitor = Monitor(0)
        let waiter = try WorkThread(named: "waiter") {
            monitor.wait { $0 == 2 ? () : nil }
            monitor.withLock { $0 = 3 }
        }
        monitor.withLock { $0 = 1 }
        monitor.withLock { $0 = 2 }
        #expect(monitor.wait { $0 == 3 ? $0 : nil } == 3)
        waiter.join()
    }

    @Test("A change by a thread that has waited wakes the other threads that wait")
    func passesOn() throws {
        let monitor = Monitor(0)
        let waiters = try (0..<8).map { number in
            try WorkThread(named: "waiter") {
                monitor.wait { value in
                    guard value == number + 1 else { return nil as Void? }
                    value += 1
                    return ()
                }
            }
        }
        monitor.withLock { $0 = 1 }
        for waiter in waiters { waiter.join() }
        #expect(monitor.withLock { $0 } == 9)
    }

    @Test("A wait ends at its deadline, and not before")
    func deadline() {
        let monitor = Monitor(0)
        let began = ContinuousClock.now
        #expect(monitor.wait(until: began + .milliseconds(50)) { $0 == 1 ? $0 : nil } == nil)
        #expect(ContinuousClock.now >= began + .milliseconds(50))
        #expect(monitor.wait(until: began) { $0 == 0 ? $0 : nil } == 0, "the value counts, however late it is")
    }

    @Test("A wait with a deadline ends as soon as its condition is true")
    func beforeTheDeadline() throws {
        let monitor = Monitor(0)
        let changer = try WorkThread(named: "changer") { monitor.withLock { $0 = 1 } }
        let began = ContinuousClock.now
        #expect(monitor.wait(until: began + .seconds(7_200)) { $0 == 1 ? $0 : nil } == 1)
        #expect(ContinuousClock.now < began + .seconds(60))
        changer.join()
    }
}
