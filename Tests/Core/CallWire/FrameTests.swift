import CallCore
import CallWire
import Testing

@Suite("A frame from a client")
struct FrameTests {
    private static let sdp = #""sdp":"v=0\r\ns=-\r\n""#

    @Test(
        "A frame of every kind is read",
        arguments: [
            (#"{"type":"offer",\#(sdp)}"#, SignalKind.offer), (#"{"type":"answer",\#(sdp)}"#, .answer),
            (#"{"type":"ringing"}"#, .ringing), (#"{"type":"connected"}"#, .connected), (#"{"type":"end"}"#, .end),
            (#"{"type":"ice","candidate":{}}"#, .ice), (#"{"type":"ice","candidate":null}"#, .ice),
            (#"{"type":"update"}"#, .update), (#"{"type":"dtmf","digits":"0*#A,"}"#, .dtmf),
            (#"{"type":"info","data":null}"#, .info), (#"{"\u0074ype":"\u0065nd"}"#, .end),
        ]
    )
    func kinds(_ frame: String, _ kind: SignalKind) throws { #expect(try signal(frame)?.signal.kind == kind) }

    @Test(
        "A frame with a wrong field is refused with that field's name",
        arguments: [
            (#"{}"#, WireCode.invalidField, "type"), (#"{"type":1}"#, .invalidField, "type"),
            (#"{"type":"\uD800"}"#, .invalidField, "type"), (#"{"type":"Offer"}"#, .unknownType, "type"),
            (#"{"type":"end","id":1}"#, .invalidField, "id"), (#"{"type":"end","id":""}"#, .invalidField, "id"),
            (#"{"type":"end","callId":1}"#, .invalidField, "callId"),
            (#"{"type":"end","callId":"a b"}"#, .invalidField, "callId"),
            (#"{"type":"end","callId":""}"#, .invalidField, "callId"),
            (#"{"type":"end","to":""}"#, .invalidField, "to"), (#"{"type":"end","to":-1}"#, .invalidField, "to"),
            (#"{"type":"end","to":1.5}"#, .invalidField, "to"), (#"{"type":"end","to":"é"}"#, .invalidField, "to"),
            (#"{"type":"end","to":["1"]}"#, .invalidField, "to"), (#"{"type":"end","to":true}"#, .invalidField, "to"),
            (#"{"type":"end","room":7}"#, .invalidField, "room"),
            (#"{"type":"end","epoch":0}"#, .invalidField, "epoch"),
            (#"{"type":"end","epoch":-1}"#, .invalidField, "epoch"),
            (#"{"type":"end","epoch":4294967296}"#, .invalidField, "epoch"),
            (#"{"type":"end","epoch":"1"}"#, .invalidField, "epoch"),
            (#"{"type":"end","reason":1}"#, .invalidField, "reason"),
            (#"{"type":"offer"}"#, .invalidField, "sdp"), (#"{"type":"offer","sdp":null}"#, .invalidField, "sdp"),
            (#"{"type":"offer","sdp":{}}"#, .invalidField, "sdp"),
            (#"{"type":"offer","sdp":"v=0\uD800"}"#, .invalidField, "sdp"),
            (#"{"type":"offer","sdp":""}"#, .invalidSDP, "sdp"), (#"{"type":"answer","sdp":"x"}"#, .invalidSDP, "sdp"),
            (#"{"type":"offer",\#(sdp),"hasVideo":1}"#, .invalidField, "hasVideo"),
            (#"{"type":"offer",\#(sdp),"displayName":1}"#, .invalidField, "displayName"),
            (#"{"type":"offer",\#(sdp),"ringTimeout":4}"#, .invalidField, "ringTimeout"),
            (#"{"type":"offer",\#(sdp),"ringTimeout":121}"#, .invalidField, "ringTimeout"),
            (#"{"type":"offer",\#(sdp),"ringTimeout":5.5}"#, .invalidField, "ringTimeout"),
            (#"{"type":"offer",\#(sdp),"ringTimeout":"30"}"#, .invalidField, "ringTimeout"),
            (#"{"type":"ice"}"#, .invalidField, "candidate"),
            (#"{"type":"ice","candidate":""}"#, .invalidField, "candidate"),
            (#"{"type":"ice","candidate":[]}"#, .invalidField, "candidate"),
            (#"{"type":"update","hold":"yes"}"#, .invalidField, "hold"),
            (#"{"type":"update","audioMuted":1}"#, .invalidField, "audioMuted"),
            (#"{"type":"update","videoMuted":{}}"#, .invalidField, "videoMuted"),
            (#"{"type":"dtmf"}"#, .invalidField, "digits"), (#"{"type":"dtmf","digits":""}"#, .invalidField, "digits"),
            (#"{"type":"dtmf","digits":"E"}"#, .invalidField, "digits"),
            (#"{"type":"dtmf","digits":"a"}"#, .invalidField, "digits"),
            (#"{"type":"dtmf","digits":1}"#, .invalidField, "digits"),
            (#"{"type":"info"}"#, .invalidField, "data"),
            (#"{"type":"join"}"#, .invalidField, "room"), (#"{"type":"leave","room":1}"#, .invalidField, "room"),
            (#"{"type":"auth"}"#, .invalidField, "token"), (#"{"type":"sync"}"#, .invalidField, "calls"),
            (#"{"type":"sync","calls":[]}"#, .invalidField, "calls"),
            (#"{"type":"sync","calls":{"a b":1}}"#, .invalidField, "calls"),
            (#"{"type":"sync","calls":{"a":-1}}"#, .invalidField, "calls"),
            (#"{"type":"sync","calls":{"a":{}}}"#, .invalidField, "calls"),
            (#"{"type":"sync","calls":{"a":{"seq":1,"epoch":0}}}"#, .invalidField, "epoch"),
        ]
    )
    func refused(_ frame: String, _ code: WireCode, _ field: String) throws {
        let error = try #require(refusal(frame))
        #expect(error.code == code)
        #expect(error.field == field)
        #expect(error.message.hasPrefix(field))
    }

    @Test("A frame that is not one JSON object is invalid JSON", arguments: ["", "x", "[]", "1", #"{"type":"#])
    func noJSON(_ frame: String) { #expect(refusal(frame)?.code == .invalidJSON) }

    @Test("A refused frame's id is reported if the frame has a valid id")
    func idOfRefused() throws {
        func id(_ frame: String) -> String? {
            do throws(ClientMessage.Refusal) {
                return try ClientMessage(bytes(frame), ringTimeout: .seconds(45)).id?.text
            } catch { return error.id?.text }
        }
        #expect(id(#"{"type":"nonsense","id":"7"}"#) == "7")
        #expect(id(#"{"id":"7\n"}"#) == "7\n")
        #expect(id(#"{"id":7}"#) == nil)
        #expect(id(#"{"id":"7""#) == nil)
    }

    @Test("A field at its limit is accepted, and one byte more is refused")
    func limits() {
        func sdp(_ count: Int) -> String { "v=0\\n" + String(repeating: "x", count: count - 4) }
        #expect(refusal(#"{"type":"offer","sdp":"\#(sdp(WireLimits.sdpBytes))"}"#) == nil)
        #expect(refusal(#"{"type":"offer","sdp":"\#(sdp(WireLimits.sdpBytes + 1))"}"#)?.code == .tooLarge)
        func candidate(_ count: Int) -> String { #"{"c":""# + String(repeating: "x", count: count - 8) + #""}"# }
        #expect(refusal(#"{"type":"ice","candidate":\#(candidate(WireLimits.candidateBytes))}"#) == nil)
        #expect(
            refusal(#"{"type":"ice","candidate":\#(candidate(WireLimits.candidateBytes + 1))}"#)?.field == "candidate"
        )
        func data(_ count: Int) -> String { "\"" + String(repeating: "x", count: count - 2) + "\"" }
        #expect(refusal(#"{"type":"info","data":\#(data(WireLimits.infoBytes))}"#) == nil)
        #expect(refusal(#"{"type":"info","data":\#(data(WireLimits.infoBytes + 1))}"#)?.code == .tooLarge)
        let digits = String(repeating: "1", count: WireLimits.digits)
        #expect(refusal(#"{"type":"dtmf","digits":"\#(digits)"}"#) == nil)
        #expect(refusal(#"{"type":"dtmf","digits":"\#(digits)1"}"#)?.field == "digits")
    }

    @Test("A field that is null counts as absent")
    func nulls() throws {
        let message = try #require(
            try signal(
                #"{"type":"offer",\#(Self.sdp),"id":null,"callId":null,"to":null,"room":null,"epoch":null,"ringTimeout":null,"hasVideo":null,"displayName":null}"#
            )
        )
        #expect(message.id == nil && message.callID == nil && message.to == nil && message.room == nil)
        #expect(message.epoch == nil && message.displayName == nil)
        #expect(message.offer?.ringTimeout == .seconds(45))
    }

    @Test("A user is named by a string or a whole number")
    func users() throws {
        #expect(try signal(#"{"type":"end","to":10}"#)?.to?.text == "10")
        #expect(try signal(#"{"type":"end","to":"10"}"#)?.to?.text == "10")
        #expect(try signal(#"{"type":"end","to":0}"#)?.to?.text == "0")
    }

    @Test("An offer is read with its video, ring time, callee, begin and digest")
    func offer() throws {
        let video = #""sdp":"v=0\r\nm=video 9 RTP/AVP 31\r\n""#
        #expect(try signal(#"{"type":"offer",\#(video)}"#)?.offer?.hasVideo == true)
        #expect(try signal(#"{"type":"offer",\#(video),"hasVideo":false}"#)?.offer?.hasVideo == false)
        #expect(try signal(#"{"type":"offer",\#(Self.sdp),"hasVideo":true}"#)?.offer?.hasVideo == true)
        #expect(try signal(#"{"type":"offer",\#(Self.sdp),"ringTimeout":5}"#)?.offer?.ringTimeout == .seconds(5))
        #expect(try signal(#"{"type":"offer",\#(Self.sdp),"ringTimeout":120}"#)?.offer?.ringTimeout == .seconds(120))
        #expect(try signal(#"{"type":"offer",\#(Self.sdp)}"#)?.offer?.namesCallee == false)
        #expect(try signal(#"{"type":"offer",\#(Self.sdp),"to":10}"#)?.offer?.namesCallee == true)
        #expect(try signal(#"{"type":"offer",\#(Self.sdp),"to":10}"#)?.offer?.begins == false)
        #expect(try signal(#"{"type":"offer",\#(Self.sdp),"to":10,"begin":true}"#)?.offer?.begins == true)
        let escaped = try signal(#"{"type":"offer","sdp":"\u0076=0\u000d\u000as=-\r\n"}"#)?.offer?.digest
        #expect(
            try signal(#"{"type":"offer",\#(Self.sdp)}"#)?.offer?.digest == escaped,
            "the text counts, not its escapes"
        )
    }

    @Test("A display name is cut to 256 characters, never inside a character")
    func displayName() throws {
        let family = "👨‍👩‍👧‍👦"
        let long = String(repeating: family, count: 300)
        let message = try #require(try signal(#"{"type":"offer",\#(Self.sdp),"displayName":"\#(long)"}"#))
        #expect(message.displayName == String(repeating: family, count: 256))
    }

    @Test("An end with an unknown reason is read as an end without a reason")
    func reason() throws {
        #expect(try signal(#"{"type":"end","reason":"whatever"}"#)?.content == .end(nil))
        #expect(try signal(#"{"type":"end","reason":"busy"}"#)?.content == .end(.busy))
    }

    @Test("The cursors of a sync are read, with an epoch or without")
    func cursors() throws {
        let frame = #"{"type":"sync","calls":{"a":0,"11-10":{"epoch":2,"seq":7},"b":{"seq":9007199254740992}}}"#
        guard case .sync(let cursors) = try ClientMessage(bytes(frame), ringTimeout: .seconds(45)).takeRequest() else {
            Issue.record("no sync")
            return
        }
        #expect(cursors.count == 3)
        #expect(cursors[try #require(CallID("11-10"))] == .init(epoch: 2, seq: 7))
        #expect(cursors[try #require(CallID("a"))] == .init(seq: 0))
    }

    @Test("A sync with more cursors than the limit is refused")
    func manyCursors() {
        func sync(_ count: Int) -> String {
            #"{"type":"sync","calls":{"# + (0..<count).map { "\"c\($0)\":1" }.joined(separator: ",") + "}}"
        }
        #expect(refusal(sync(WireLimits.syncedCalls)) == nil)
        #expect(refusal(sync(WireLimits.syncedCalls + 1))?.field == "calls")
    }
}
