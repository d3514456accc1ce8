import ServerLog
import Testing

@testable import ringline

@Suite("The log's threshold")
struct LogThresholdTests {
    @Test("The threshold moves by levels, and stops at the first and the last level")
    func moves() {
        let threshold = LogThreshold("info")
        #expect(threshold.move(by: -1) == .debug && threshold.level == .debug)
        #expect(threshold.move(by: -1) == .trace && threshold.move(by: -1) == .trace)
        #expect(threshold.move(by: 9) == .critical)
        #expect(LogThreshold("nonsense").level == .info)
    }

    @Test("The threshold applies to every copy of a log")
    func copies() {
        let threshold = LogThreshold("error")
        let log = Log.make(threshold, asJSON: false, to: Log.writer(asJSON: false))
        let copy = log
        for log in [log, copy] { #expect(log.isOn(.error) && !log.isOn(.warning)) }
        threshold.move(by: -3)
        for log in [log, copy] { #expect(log.isOn(.info) && !log.isOn(.debug)) }
    }
}
