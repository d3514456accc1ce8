import Logging
import Testing

@testable import ringline

@Suite("The log's threshold")
struct LogThresholdTests {
    @Test("The threshold moves by levels, and stops at the first and the last one")
    func moves() {
        let threshold = LogThreshold("info")
        #expect(threshold.move(by: -1) == .debug && threshold.level == .debug)
        #expect(threshold.move(by: -1) == .trace && threshold.move(by: -1) == .trace)
        #expect(threshold.move(by: 9) == .critical)
        #expect(LogThreshold("nonsense").level == .info)
    }

    @Test("The threshold applies to every copy of a logger")
    func copies() {
        let threshold = LogThreshold("error")
        let log = Log.make(threshold, asJSON: false, to: Log.writer(asJSON: false))
        var copy = log
        copy[metadataKey: "a"] = "b"
        #expect(log.logLevel == .error && copy.logLevel == .error)
        threshold.move(by: -3)
        #expect(log.logLevel == .info && copy.logLevel == .info)
    }
}
