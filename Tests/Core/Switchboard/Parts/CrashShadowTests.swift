import CallCore
import Testing

@testable import Switchboard

@Suite("Sequence numbers that a crash lost")
struct CrashShadowTests {
    private let gap = CallCore.Limits.restartGap

    @Test("New logs begin above the numbers that each crash may have lost, until no client remembers such a number")
    func firstSeq() {
        let shadow = CrashShadow(uncleanStarts: 2, startedAt: Values.now, lasting: .seconds(180))
        #expect(shadow.firstSeq(at: Values.now) == 1 + 2 * gap)
        #expect(shadow.firstSeq(at: Values.now + .seconds(180)) == 1)
        #expect(
            CrashShadow(uncleanStarts: 0, startedAt: Values.now, lasting: .seconds(180)).firstSeq(at: Values.now) == 1
        )
    }

    @Test("The count of crashes is reset once, when clients no longer remember lost sequence numbers")
    func end() {
        var shadow = CrashShadow(uncleanStarts: 1, startedAt: Values.now, lasting: .seconds(180))
        let calls = CallTable()
        let early = shadow.end(at: Values.now + .seconds(179), calls: calls)
        #expect(!early && shadow.uncleanStarts == 1)
        let ended = shadow.end(at: Values.now + .seconds(180), calls: calls)
        #expect(ended && shadow.uncleanStarts == 0)
        let again = shadow.end(at: Values.now + .seconds(181), calls: calls)
        #expect(!again)
    }
}
