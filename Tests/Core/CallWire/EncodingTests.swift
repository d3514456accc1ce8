import CallCore
import CallWire
import JSON
import Testing

@Suite("A moment as text")
struct TimestampTests {
    @Test(
        "A moment is written as its date and time in UTC, through leap years and before 1970",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"), (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_677_628_799_999, "2023-02-28T23:59:59.999Z"), (1_677_628_800_000, "2023-03-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (1_735_689_599_999, "2024-12-31T23:59:59.999Z"), (1_735_689_600_000, "2025-01-01T00:00:00.000Z"),
            (1_795_250_823_250, "2026-11-21T08:47:03.250Z"), (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
            (-2_208_988_800_000, "1900-01-01T00:00:00.000Z"), (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
        ]
    )
    func table(_ milliseconds: Int64, _ text: String) {
        #expect(Timestamp.text(Moment(milliseconds: milliseconds)) == text)
        var json = JSONWriter()
        json.timestamp(Moment(milliseconds: milliseconds))
        #expect(String(decoding: json.bytes, as: UTF8.self) == "\"\(text)\"")
    }

    @Test("The text of each day sorts after the text of the day before, for 130 years")
    func grows() {
        var last = Timestamp.text(Moment(milliseconds: -1))
        for day in 0..<(130 * 366) {
            let text = Timestamp.text(Moment(milliseconds: Int64(day) * 86_400_000))
            guard last < text else {
                Issue.record("\(text) came after \(last)")
                return
            }
            last = text
        }
    }
}

@Suite("An error code")
struct WireCodeTests {
    @Test("Each code has the HTTP status that the protocol gives it")
    func status() {
        let statuses: [WireCode: Int] = [
            .invalidJSON: 400, .invalidField: 400, .unknownType: 400, .unauthenticated: 401, .tokenExpired: 401,
            .forbidden: 403, .notFound: 404, .methodNotAllowed: 405, .cursorGone: 410, .refusedByApp: 403,
            .decisionUnavailable: 503, .alreadyAnswered: 409, .callEnded: 409, .callExists: 409, .logFull: 409,
            .tooLarge: 413, .unsupportedMediaType: 415, .invalidSDP: 422,
            .upgradeRequired: 426, .rateLimited: 429, .internalError: 500, .draining: 503, .storeUnavailable: 503,
            .keysUnavailable: 503,
        ]
        for code in WireCode.allCases { #expect(code.status == statuses[code], "\(code)") }
    }

    @Test("No two codes have the same name or title")
    func unique() {
        #expect(Set(WireCode.allCases.map(\.title)).count == WireCode.allCases.count)
        #expect(Set(WireCode.allCases.map(\.rawValue)).count == WireCode.allCases.count)
    }
}

@Suite("A frame that the server originates")
struct ServerFrameTests {
    private func place() throws -> LogPosition {
        LogPosition(
            in: EncodedLogIdentity(LogIdentity(callID: try #require(CallID("c-1")), room: "p2p:11-10", epoch: 2)),
            seq: 7,
            at: Moment(milliseconds: 5)
        )
    }

    @Test("A `welcome` contains user, device, session, heartbeat, ICE servers and limits")
    func welcome() throws {
        let frame = ServerFrame.welcome(
            user: try #require(UserID("11")),
            device: try #require(DeviceID("a1")),
            session: "s_1",
            heartbeatSeconds: 25,
            iceServers: bytes("[]"),
            frameBytes: 65_536,
            signalsPerSecond: 50
        )
        #expect(
            text(frame)
                == #"{"type":"welcome","v":1,"user":"11","device":"a1","session":"s_1","heartbeat":25,"iceServers":[],"limits":{"frame":65536,"signalsPerSecond":50}}"#
        )
    }

    @Test("An ack contains the `seq`, if there is one, and the result of an offer that lost a glare")
    func acks() throws {
        let id = try #require(SignalID("a\"b"))
        let call = try #require(CallID("c-1"))
        #expect(text(ServerFrame.ack(id: id)) == #"{"type":"ack","id":"a\"b"}"#)
        #expect(
            text(ServerFrame.ack(id: id, callID: call, epoch: 1, seq: 3, outcome: nil))
                == #"{"type":"ack","id":"a\"b","callId":"c-1","epoch":1,"seq":3}"#
        )
        let outcome = StateChange(.ended, reason: .glare, replacedBy: CallID("a"))
        #expect(
            text(ServerFrame.ack(id: id, callID: call, epoch: 1, seq: 3, outcome: outcome))
                == #"{"type":"ack","id":"a\"b","callId":"c-1","epoch":1,"seq":3,"state":"ended","reason":"glare","replacedBy":"a"}"#
        )
    }

    @Test("An ack made for an entry of a log has the same bytes as one made of its parts")
    func acksInLog() throws {
        let id = try #require(SignalID("a\"b"))
        let outcomes = [nil, StateChange(.ended, reason: .glare, replacedBy: CallID("a"))]
        for (epoch, seq) in [(1, 1), (7, 10), (UInt32.max, UInt64.max)] as [(UInt32, UInt64)] {
            let call = try #require(CallID("c-\(seq)"))
            let log = EncodedLogIdentity(LogIdentity(callID: call, room: "p2p:11-10", epoch: epoch))
            for outcome in outcomes {
                let made = ServerFrame.ack(id: id, callID: call, epoch: epoch, seq: seq, outcome: outcome)
                #expect(ServerFrame.ack(id: id, in: log, seq: seq, outcome: outcome) == made)
            }
        }
    }

    @Test("A call event names the device that answered")
    func call() throws {
        let device = DeviceIdentity(id: try #require(DeviceID("b1")), fingerprint: TokenFingerprint(rawValue: 1))
        let frame = ServerFrame.call(
            StateChange(.ended, reason: .answeredElsewhere, answeredBy: device),
            callee: try #require(UserID("10")),
            at: try place()
        )
        #expect(
            text(frame)
                == #"{"type":"call","callId":"c-1","room":"p2p:11-10","epoch":2,"seq":7,"ts":5,"state":"ended","reason":"answered_elsewhere","answeredBy":{"user":"10","device":"b1"}}"#
        )
    }

    @Test("An error contains the code, the message and the field")
    func error() throws {
        let frame = ServerFrame.error(.invalid(.sdp, "missing"), id: SignalID("1"), callID: CallID("c"))
        #expect(
            text(frame)
                == #"{"type":"error","id":"1","callId":"c","code":"invalid_field","message":"sdp: missing","field":"sdp"}"#
        )
    }

    @Test("An error frame states when to try again wherever a response would have Retry-After")
    func retryAfter() {
        #expect(
            text(ServerFrame.error(WireError(.storeUnavailable, "x"), id: nil))
                == #"{"type":"error","code":"store_unavailable","message":"x","retryAfter":2}"#
        )
        var limited = WireError(.rateLimited, "x")
        #expect(text(ServerFrame.error(limited, id: nil)).hasSuffix(#","retryAfter":1}"#))
        limited.retryAfterSeconds = 30
        #expect(text(ServerFrame.error(limited, id: nil)).hasSuffix(#","retryAfter":30}"#))
        #expect(!text(ServerFrame.error(WireError(.callEnded, "x"), id: nil)).contains("retryAfter"))
    }

    @Test("A draining frame states when to reconnect")
    func draining() {
        #expect(text(ServerFrame.draining(reconnectAfterMs: 1_750)) == #"{"type":"draining","reconnectAfterMs":1750}"#)
    }

    @Test("A peer frame names the room and the member that left")
    func peer() throws {
        let frame = ServerFrame.peer(
            room: "room:é",
            user: try #require(UserID("11")),
            device: try #require(DeviceID("a1")),
            isPresent: false
        )
        #expect(text(frame) == #"{"type":"peer","room":"room:é","user":"11","device":"a1","present":false}"#)
    }
}
