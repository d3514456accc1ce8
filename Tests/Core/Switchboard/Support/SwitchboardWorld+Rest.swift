import CallPorts
import Testing

@testable import Switchboard

/// Ended calls that leave memory.
extension SwitchboardWorld {
    /// Lets time pass, and lets every connection answer two pings, which confirms the end of the call.
    func settle() {
        for _ in 0..<2 {
            wait(26)
            for connection in pings.keys.sorted(by: { $0.rawValue < $1.rawValue }) { pong(connection) }
        }
    }

    /// Lets time pass, and checks that all calls are at rest, this many.
    func putToRest(_ count: Int = 1) throws {
        settle()
        #expect(switchboard.calls.count == 0)
        #expect(switchboard.calls.resting.count == count)
    }
}

extension CallTable {
    /// The number of live calls, counted anew.
    var liveCount: Int {
        var count = 0
        forEachLive { _ in count += 1 }
        return count
    }
}
