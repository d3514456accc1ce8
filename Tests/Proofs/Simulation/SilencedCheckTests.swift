import CallCore
import CallPorts
import CallWire
import Testing

@testable import Simulation

/// Tests with a call from user 11 to user 10 that device `b1` of user 10 does not show.
@Suite("The check that a device which does not show a call leaves it to the other devices")
struct SilencedCheckTests {
    private let device: SimulatedDevice
    private let call: CallRecord
    private var checker = InvariantChecker()
    private var name: CallName { CallName(id: call.id, pair: Pair(call.caller, call.callee), epoch: 1) }

    init() throws {
        device = SimulatedDevice(
            index: 0,
            user: try #require(UserID("10")),
            device: try #require(DeviceID("b1")),
            fingerprint: TokenFingerprint(rawValue: 1),
            skew: 0,
            isPoller: false,
            isRealApp: false,
            environment: .production,
            kind: .voip
        )
        call = CallRecord(
            number: CallNumber(rawValue: 1),
            id: try #require(CallID("c-1")),
            epoch: 1,
            room: "p2p:11-10",
            caller: try #require(UserID("11")),
            callee: device.user,
            displayName: nil,
            hasVideo: false,
            startedAt: Moment(milliseconds: 1_000),
            ringUntil: Moment(milliseconds: 46_000),
            endedAt: nil,
            reason: nil
        )
        _ = checker.apply(.call(call), at: 1_000)
        checker.silenced.insert(checker.target(name, device.id))
    }

    /// The broken invariant after `b1` has ended the call.
    private mutating func violationByEnd() -> String? {
        let identity = DeviceIdentity(id: device.id, fingerprint: TokenFingerprint(rawValue: 1))
        let content = LogEntry.Content.signal(.end, from: .callee, device: identity, id: SignalID("1-2"), digest: 0)
        let entry = LogEntry(seq: 3, at: Moment(milliseconds: 3_000), content: content, audience: .caller)
        _ = checker.apply(.entry(call.number, EntryRecord(entry, object: [])), at: 3_000)
        return checker.violation?.invariant
    }

    private mutating func restart(with calls: [StoredCall]) {
        checker.restarted(with: calls, [], at: 2_000, saying: Moment(milliseconds: 2_000))
    }

    @Test("Its `end` breaks I19, and still does so when a restarted server has kept the call")
    mutating func declines() {
        restart(with: [StoredCall(record: call, entries: [])])
        #expect(violationByEnd() == "I19")
    }

    @Test("It may end a later call under the name of one that a crash has lost")
    mutating func anotherCall() {
        restart(with: [])
        _ = checker.apply(.call(call), at: 2_500)
        #expect(violationByEnd() == nil)
    }

    @Test("It may end a call once the server has told it that it answered", arguments: ["b1", "b2"])
    mutating func answered(by answeringDevice: String) {
        let frame =
            #"{"type":"call","callId":"c-1","room":"p2p:11-10","epoch":1,"seq":2,"state":"answered","#
            + #""answeredBy":{"device":"\#(answeringDevice)"}}"#
        let bytes = [UInt8](repeating: 0, count: Frame.headroom) + Array(frame.utf8)
        checker.sent(ParsedFrame(bytes), to: device, on: 0, at: 2_000)
        #expect(violationByEnd() == (answeringDevice == "b1" ? nil : "I19"))
    }
}
