import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The meaning of an offer")
struct CallRouterTests {
    /// The call under the offer's callId, between 11 (device a1) and 10 (device b1); its offer `o` has digest 1.
    ///
    /// `unnamedEnded` is a declined call whose caller's client sent no device id; `later` is a ringing call in epoch 2.
    enum Found: String { case none, ringing, answered, declined, hidden, unnamedEnded, later }

    /// One row of the table: an offer, the call that it finds, and its meaning.
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String { "\(name): \(meaning)" }
        let name: String
        let found: Found
        var user = "11"
        /// `nil` = the client named no device.
        var device: String? = "a1"
        var id = "n"
        var digest: UInt64 = 2
        var callID: String? = "c-1"
        var epoch: UInt32?
        var named: String?
        var begins = false
        var transport = Source.Transport.connection
        var after: Int64 = 1
        let meaning: String
    }

    static let rows = [
        // A first offer.
        Row(name: "to a named callee", found: .none, named: "10", meaning: "first to 10"),
        Row(name: "without a callId", found: .none, callID: nil, named: "10", meaning: "first to 10"),
        Row(name: "under a callId that names the callee", found: .none, callID: "11-10", meaning: "first to 10"),
        Row(name: "to nobody", found: .none, meaning: "refused invalid_field"),
        Row(name: "to its sender", found: .none, named: "11", meaning: "refused invalid_field"),
        Row(name: "of a call that a crash lost", found: .none, epoch: 1, named: "10", meaning: "refused not_found"),
        Row(name: "under the callId of an ended call", found: .declined, named: "12", meaning: "first to 12"),
        Row(name: "under the callId of an ended call, to nobody", found: .declined, meaning: "refused invalid_field"),
        // Repeats.
        Row(name: "the same id", found: .ringing, id: "o", digest: 1, meaning: "repeats"),
        Row(name: "the same description under another id", found: .ringing, digest: 1, meaning: "repeats"),
        Row(name: "the same id after the end", found: .declined, id: "o", digest: 1, meaning: "repeats"),
        Row(name: "the same description in the answered call", found: .answered, digest: 1, meaning: "repeats"),
        // A new description before the answer.
        Row(name: "another description", found: .ringing, meaning: "replaces the description"),
        Row(name: "from another device", found: .ringing, device: "a2", meaning: "refused in call forbidden"),
        Row(name: "of the callee", found: .ringing, user: "10", device: "b1", meaning: "refused in call call_exists"),
        // Renegotiation.
        Row(name: "of the caller", found: .answered, meaning: "renegotiates"),
        Row(name: "of the callee's device", found: .answered, user: "10", device: "b1", meaning: "renegotiates"),
        Row(
            name: "of a device that lost the call",
            found: .answered,
            user: "10",
            device: "b2",
            meaning: "refused in call already_answered"
        ),
        Row(name: "in its own epoch", found: .later, epoch: 2, meaning: "replaces the description"),
        Row(name: "in an earlier epoch", found: .later, epoch: 1, meaning: "refused in call call_ended"),
        Row(name: "in an epoch to come", found: .later, epoch: 3, meaning: "refused in call not_found"),
        Row(name: "of an epoch that is over", found: .declined, epoch: 1, named: "10", meaning: "refused call_ended"),
        // Replacement.
        Row(name: "that begins anew", found: .ringing, begins: true, meaning: "replacement to 10"),
        Row(name: "that begins anew in the call", found: .answered, begins: true, meaning: "replacement to 10"),
        Row(name: "of the caller's other device", found: .answered, device: "a2", meaning: "replacement to 10"),
        Row(
            name: "of the callee's device that begins anew",
            found: .answered,
            user: "10",
            device: "b1",
            begins: true,
            meaning: "replacement to 11"
        ),
        Row(
            name: "of a callee that cannot see the call",
            found: .hidden,
            user: "10",
            device: "b1",
            meaning: "replacement to 11"
        ),
        Row(
            name: "of a callee that cannot see the call, in its epoch",
            found: .hidden,
            user: "10",
            device: "b1",
            epoch: 1,
            meaning: "refused call_ended"
        ),
        // A late copy of an ended call's offer: the first copy came over a connection.
        Row(
            name: "by request",
            found: .unnamedEnded,
            device: nil,
            digest: 1,
            transport: .request,
            meaning: "late copy"
        ),
        Row(
            name: "by the same way",
            found: .unnamedEnded,
            device: nil,
            digest: 1,
            named: "10",
            meaning: "first to 10"
        ),
        Row(
            name: "by request, but too late",
            found: .unnamedEnded,
            device: nil,
            digest: 1,
            named: "10",
            transport: .request,
            after: 11,
            meaning: "first to 10"
        ),
        Row(
            name: "another offer by request",
            found: .unnamedEnded,
            device: nil,
            named: "10",
            transport: .request,
            meaning: "first to 10"
        ),
    ]

    @Test("An offer's meaning follows from its members, its sender and the call that it finds", arguments: rows)
    func meaning(_ row: Row) throws {
        let found = try call(row.found)
        let fingerprint = TokenFingerprint(rawValue: row.user == "11" ? 1 : 2)
        let incoming = CallRouter.IncomingOffer(
            offer: Values.offer(row.digest, begins: row.begins),
            id: SignalID(row.id),
            callID: try row.callID.map { try SwitchboardTests.call($0) },
            epoch: row.epoch,
            named: try row.named.map { try user($0) },
            source: Source(
                user: try user(row.user),
                device: try row.device.map { DeviceIdentity(id: try device($0), fingerprint: fingerprint) }
                    ?? DeviceIdentity(unnamed: fingerprint),
                name: nil,
                transport: row.transport
            )
        )
        let before = found?.session
        let decision = CallRouter.decide(incoming, about: found, at: Values.now + .seconds(row.after))
        #expect(text(decision) == row.meaning)
        #expect(found?.session == before, "deciding changes nothing")
    }

    /// One row: a call that begins, and the result.
    struct Start: Sendable {
        var hidden: CallRecord.Hidden?
        var isBusy = false
        var hasTooManyCallers = false
        var opposingCalls: [String] = []
        let result: CallRouter.StartOutcome
    }

    @Test(
        "A call that begins rings unless it is hidden, or its callee is busy or has too many callers",
        arguments: [
            Start(result: .rings),
            Start(hidden: .block, result: .hidden),
            Start(hidden: .callIDTaken, isBusy: true, result: .busy),
            Start(isBusy: true, hasTooManyCallers: true, result: .tooManyCallers),
            Start(isBusy: true, opposingCalls: ["a"], result: .busy),
            // In a glare the call whose callId comes first in byte order wins.
            Start(opposingCalls: ["z"], result: .rings),
        ]
    )
    func start(_ row: Start) throws {
        let opposingCalls = try row.opposingCalls.map { try SwitchboardTests.call($0) }
        let result = CallRouter.startOutcome(
            try SwitchboardTests.call("c-1"),
            hidden: row.hidden,
            isBusy: row.isBusy,
            hasTooManyCallers: row.hasTooManyCallers,
            opposingCalls: opposingCalls
        )
        #expect(result == row.result)
    }

    @Test("A new call loses the glare against an opposing call with a smaller callId, even if the new call is hidden")
    func glare() throws {
        let opposingCalls = [try SwitchboardTests.call("z"), try SwitchboardTests.call("a")]
        for hidden in [nil, CallRecord.Hidden.callIDTaken] {
            let result = CallRouter.startOutcome(
                try SwitchboardTests.call("c-1"),
                hidden: hidden,
                isBusy: false,
                hasTooManyCallers: false,
                opposingCalls: opposingCalls
            )
            #expect(result == .lostGlare(to: opposingCalls[1]))
        }
    }

    private func call(_ found: Found) throws -> Call? {
        let unnamed = DeviceIdentity(unnamed: TokenFingerprint(rawValue: 1))
        let call: Call
        switch found {
        case .none: return nil
        case .ringing, .answered, .declined: call = try Values.call()
        case .hidden: call = try Values.call(hidden: .callIDTaken)
        case .unnamedEnded: call = try Values.call(by: unnamed)
        case .later: call = try Values.call(epoch: 2)
        }
        let callee = DeviceIdentity(id: try device("b1"), fingerprint: TokenFingerprint(rawValue: 2))
        var outputs: [CallSession.Output] = []
        switch found {
        case .answered:
            let answer = Signal(.answer(digest: 7))
            call.handle(.signal(answer, from: .callee, callee), at: Values.now, into: &outputs)
        case .declined, .unnamedEnded:
            let end = Signal(.end(.declined))
            call.handle(.signal(end, from: .callee, callee), at: Values.now, into: &outputs)
        case .none, .ringing, .hidden, .later: break
        }
        return call
    }

    private func text(_ decision: CallRouter.Decision) -> String {
        switch decision {
        case .inCall(.repeats): "repeats"
        case .inCall(.replacesDescription): "replaces the description"
        case .inCall(.renegotiates): "renegotiates"
        case .inCall(.refused(let refusal)): "refused in call \(WireError(refusal).code.rawValue)"
        case .lateCopy: "late copy"
        case .first(let callee): "first to \(callee.text)"
        case .replacement(let callee): "replacement to \(callee.text)"
        case .refused(let error): "refused \(error.code.rawValue)"
        }
    }
}
