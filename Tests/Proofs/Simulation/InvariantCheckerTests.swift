import CallCore
import CallPorts
import Testing

@testable import Simulation

/// Tests with two calls to user 10 under one callId, both of epoch 1: the call of user 12 has ended, and the call of
/// user 11 rings.
@Suite("The check that nothing acknowledged is lost")
struct InvariantCheckerTests {
    private let id: CallID
    private let callee: UserID
    private let ended: CallRecord
    private let live: CallRecord

    init() throws {
        let id = try #require(CallID("c-1"))
        let callee = try #require(UserID("10"))
        func record(_ number: Int64, caller: UserID, endedAt: Moment?) -> CallRecord {
            CallRecord(
                number: CallNumber(rawValue: number),
                id: id,
                epoch: 1,
                room: "p2p:\(caller.text)-10",
                caller: caller,
                callee: callee,
                displayName: nil,
                hasVideo: false,
                startedAt: Moment(milliseconds: 1_000),
                ringUntil: Moment(milliseconds: 46_000),
                endedAt: endedAt,
                reason: endedAt == nil ? nil : .cancelled
            )
        }
        self.id = id
        self.callee = callee
        ended = record(1, caller: try #require(UserID("12")), endedAt: Moment(milliseconds: 2_000))
        live = record(2, caller: try #require(UserID("11")), endedAt: nil)
    }

    /// Returns the broken invariant after this course: device `b1` has sent a `ringing` that names no peer and was meant
    /// for the ended call; it was acknowledged with a `seq`; the server restarts, and the live call's log has one entry,
    /// with `seq` 3.
    private func violation(
        acknowledged seq: UInt64 = 3,
        kept kind: SignalKind,
        _ signalID: String,
        from sender: String
    ) throws -> String? {
        let identity = DeviceIdentity(
            id: try #require(DeviceID(sender)),
            fingerprint: TokenFingerprint(rawValue: 1)
        )
        let content = LogEntry.Content.signal(
            kind,
            from: .callee,
            device: identity,
            id: SignalID(signalID),
            digest: 0
        )
        let entry = EntryRecord(
            LogEntry(seq: 3, at: Moment(milliseconds: 3_000), content: content, audience: .caller),
            object: []
        )
        var checker = InvariantChecker()
        for change in [.call(ended), .call(live), .entry(live.number, entry)] as [Change] {
            _ = checker.apply(change, at: 3_000)
        }
        let meant = CallName(id: id, pair: Pair(ended.caller, callee), epoch: 1)
        checker.intendedCall["b1 1.2"] = meant.key
        checker.acknowledged(meant, seq: seq, id: "1.2", kind: .ringing, by: try device("b1"), at: 3_100)
        let stored = [StoredCall(record: ended, entries: []), StoredCall(record: live, entries: [entry])]
        checker.restarted(with: stored, [], at: 4_000, saying: Moment(milliseconds: 4_000))
        return checker.violation?.invariant
    }

    private func device(_ id: String) throws -> SimulatedDevice {
        SimulatedDevice(
            index: 0,
            user: callee,
            device: try #require(DeviceID(id)),
            fingerprint: TokenFingerprint(rawValue: 1),
            skew: 0,
            isPoller: false,
            isRealApp: false,
            environment: .production,
            kind: .voip
        )
    }

    @Test(
        "A `ringing` without a peer is held by the call that rings on the device, under the id of its first `ringing`",
        arguments: ["1.1", "1.2"]
    )
    func heldByAnotherCall(signalID: String) throws {
        #expect(try violation(kept: .ringing, signalID, from: "b1") == nil)
    }

    @Test("An entry of another kind, of another device or with another `seq` does not hold an acknowledged signal")
    func lost() throws {
        #expect(try violation(kept: .ice, "1.1", from: "b1") == "I4")
        #expect(try violation(kept: .ringing, "1.1", from: "b2") == "I4")
        #expect(try violation(acknowledged: 4, kept: .ringing, "1.1", from: "b1") == "I4")
    }
}
