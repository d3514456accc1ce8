import CallCore
import CallWire
import JSON
import Testing

@Suite("A request's body")
struct BodyTests {
    private static let sdp = #""sdp":"v=0\r\n""#

    @Test("A body names its kind in action, type or signalType", arguments: ["action", "type", "signalType"])
    func kind(_ name: String) throws {
        #expect(try body(#"{"callId":"c","\#(name)":"ringing","data":{}}"#).signal.kind == .ringing)
    }

    @Test("The kind in `action` takes precedence over `type`, and `type` takes precedence over `signalType`")
    func precedence() throws {
        #expect(try body(#"{"type":"x","signalType":"y","action":"end"}"#).signal.kind == .end)
        #expect(try body(#"{"signalType":"y","type":"end"}"#).signal.kind == .end)
    }

    @Test(
        "An unknown kind is refused by the member that names it, and by its value if that is a word",
        arguments: [
            (#"{"type":"ofer"}"#, "type", "type: unknown: ofer"), (#"{"action":"x"}"#, "action", "action: unknown: x"),
            (#"{"signalType":"Offer"}"#, "signalType", "signalType: unknown: Offer"),
            (#"{"action":"ofer","type":"offer"}"#, "action", "action: unknown: ofer"),
            (#"{"type":"a b"}"#, "type", "type: unknown"), (#"{"type":"192.0.2.1"}"#, "type", "type: unknown"),
            (#"{"type":""}"#, "type", "type: unknown"),
            (#"{"type":"\u001b[31m"}"#, "type", "type: unknown"),
            (#"{"type":"\#(String(repeating: "a", count: 33))"}"#, "type", "type: unknown"),
            (#"{"type":5}"#, "type", "type: must be a string of valid Unicode"), ("{}", "action", "action: missing"),
        ]
    )
    func unknownKind(_ text: String, _ field: String, _ message: String) {
        #expect(bodyRefusal(text)?.field == field)
        #expect(bodyRefusal(text)?.message == message)
        guard field == "type" else { return }
        #expect(refusal(text)?.field == field)
        #expect(refusal(text)?.message == message)
    }

    @Test(
        "An id above 2^53 - 1 must be a string in every member that may be a number",
        arguments: ["9007199254740992", "9007199254740993", "18446744073709551616"]
    )
    func largeNumbers(_ number: String) {
        let message = "must be a string if it is above 9007199254740991, because JavaScript rounds larger numbers"
        for field in ["to", "from"] {
            let text = #"{"action":"info","callId":"c","\#(field)":\#(number),"data":1}"#
            #expect(bodyRefusal(text)?.message == "\(field): \(message)")
            #expect(bodyRefusal(text.replacing(number, with: "\"\(number)\"")) == nil)
            #expect(bodyRefusal(text.replacing(number, with: "9007199254740991")) == nil)
        }
        #expect(refusal(#"{"type":"info","callId":"c","to":\#(number),"data":1}"#)?.message == "to: \(message)")
        #expect(refusal(#"{"type":"presence","userId":\#(number)}"#)?.message == "userId: \(message)")
        #expect(refusal(#"{"type":"info","callId":"c","to":-1,"data":1}"#)?.message != "to: \(message)")
        for body in [#"{"callee_id":\#(number)}"#, #"{"userId":\#(number)}"#, #"{"blocked_user_id":\#(number)}"#] {
            let read = [
                Result { () throws(WireError) in _ = try RequestBody.callee(in: bytes(body)) },
                Result { () throws(WireError) in _ = try RequestBody.blocked(in: bytes(body)) },
            ]
            let messages = read.compactMap { if case .failure(let error) = $0 { error.message } else { nil } }
            #expect(messages.contains { $0.hasSuffix(message) }, "\(body): \(messages)")
        }
    }

    @Test("An id above 2^53 - 1 is written as a string even where ids are written as numbers")
    func largeNumbersWritten() throws {
        for (text, written) in [
            ("9007199254740991", "9007199254740991"), ("9007199254740992", #""9007199254740992""#), ("10", "10"),
            ("010", #""010""#), ("-1", #""-1""#), ("+5", #""+5""#),
            ("18446744073709551615", #""18446744073709551615""#),
        ] {
            var json = JSONWriter()
            json.id(try #require(UserID(text)), asInteger: true)
            #expect(String(decoding: json.bytes, as: UTF8.self) == written)
        }
    }

    @Test("A body without `data` may have the shape of a WebSocket frame")
    func flat() throws {
        let message = try body(#"{"callId":"c","action":"ice","candidate":{"a":1},"mine":2,"deviceId":"d","id":"i"}"#)
        #expect(message.signal.kind == .ice)
        #expect(message.relayedText == #""candidate":{"a":1},"mine":2"#)
        #expect(message.device?.text == "d")
        #expect(message.id?.text == "i")
    }

    @Test("The app's own members in `data` are relayed byte for byte")
    func nested() throws {
        let message = try body(
            #"{"callId":"c","action":"offer","other":1,"data":{"type":"offer", \#(Self.sdp) ,"x": [1, 2]}}"#
        )
        #expect(message.relayedText == #"\#(Self.sdp),"x": [1, 2]"#)
    }

    @Test("The member `data` must be an object for every kind except `info`", arguments: [#""x""#, "1", "[]", "true"])
    func wrongData(_ data: String) {
        #expect(bodyRefusal(#"{"action":"ringing","callId":"c","data":\#(data)}"#)?.field == "data")
    }

    @Test("An `info` relays the inner `data` of a `data` object, or a `data` that is any other JSON value itself")
    func info() throws {
        #expect(try body(#"{"action":"info","callId":"c","data":{"data":{"a":1}}}"#).relayedText == #""data":{"a":1}"#)
        #expect(try body(#"{"action":"info","callId":"c","data":"text"}"#).relayedText == #""data":"text""#)
        #expect(try body(#"{"action":"info","callId":"c","data":[1]}"#).relayedText == #""data":[1]"#)
        #expect(bodyRefusal(#"{"action":"info","callId":"c","data":{"a":1}}"#)?.field == "data")
        #expect(bodyRefusal(#"{"action":"info","callId":"c"}"#)?.field == "data")
    }

    @Test("The `data` of an offer may name the callee")
    func dataTo() throws {
        let message = try body(#"{"action":"offer","callId":"c","data":{\#(Self.sdp),"to":10}}"#)
        #expect(message.to?.text == "10")
        #expect(message.offer?.namesCallee == true)
        #expect(try body(#"{"action":"offer","to":12,"data":{\#(Self.sdp),"to":10}}"#).to?.text == "12")
        #expect(try body(#"{"action":"offer","data":{\#(Self.sdp)}}"#).offer?.namesCallee == false)
        #expect(bodyRefusal(#"{"action":"offer","data":{\#(Self.sdp),"to":"é"}}"#)?.field == "to")
    }

    @Test("The `data` of an offer may name the room, unless the body itself names the callee or a room")
    func dataRoom() throws {
        let message = try body(#"{"action":"offer","callId":"c","data":{\#(Self.sdp),"room":"p2p:11-10"}}"#)
        #expect(message.room == "p2p:11-10" && message.to == nil && message.offer?.namesCallee == false)
        #expect(!message.relayedText.contains("room"))
        let named = #""data":{\#(Self.sdp),"room":"p2p:11-10"}"#
        #expect(try body(#"{"action":"offer","room":"p2p:11-12",\#(named)}"#).room == "p2p:11-12")
        #expect(try body(#"{"action":"offer","to":12,\#(named)}"#).room == nil)
        #expect(try body(#"{"action":"offer","data":{\#(Self.sdp),"to":12,"room":"p2p:11-10"}}"#).room == nil)
        #expect(bodyRefusal(#"{"action":"offer","data":{\#(Self.sdp),"room":1}}"#)?.field == "room")
        #expect(try body(#"{"action":"answer","callId":"c","data":{\#(Self.sdp),"room":"x"}}"#).room == nil)
    }

    @Test("A `to` in an answer's `data` is ignored, because apps write anything there")
    func answerTo() throws {
        #expect(try body(#"{"action":"answer","callId":"c","data":{\#(Self.sdp),"from":10,"to":11}}"#).to == nil)
    }

    @Test("A body may name the epoch beside `data` or inside `data`")
    func epoch() throws {
        #expect(try body(#"{"action":"end","callId":"c","epoch":2}"#).epoch == 2)
        #expect(try body(#"{"action":"end","callId":"c","data":{"epoch":3}}"#).epoch == 3)
        #expect(bodyRefusal(#"{"action":"end","callId":"c","data":{"epoch":0}}"#)?.field == "epoch")
    }

    @Test("A body may omit the callId that the path names, and must not name another callId")
    func path() throws {
        let path = try #require(CallID("11-10"))
        #expect(try body(#"{"action":"end"}"#, path: path).callID == path)
        #expect(try body(#"{"action":"end","callId":"11-10"}"#, path: path).callID == path)
        #expect(bodyRefusal(#"{"action":"end","callId":"10-11"}"#, path: path)?.field == "callId")
    }

    @Test("Only the top level of a body names the user for whom a service acts")
    func from() throws {
        #expect(try body(#"{"action":"end","callId":"c","from":12}"#).from?.text == "12")
        #expect(try body(#"{"action":"end","callId":"c","data":{"from":12}}"#).from == nil)
        #expect(bodyRefusal(#"{"action":"end","from":{}}"#)?.field == "from")
    }

    @Test("The refusal of a body has an error code, and names the field that is missing or invalid")
    func refused() {
        #expect(bodyRefusal("{}")?.field == "action")
        #expect(bodyRefusal(#"{"action":"nonsense"}"#)?.code == .unknownType)
        #expect(bodyRefusal(#"{"action":"join","room":"x"}"#)?.code == .unknownType)
        #expect(bodyRefusal(#"{"action":1}"#)?.field == "action")
        #expect(bodyRefusal(#"{"action":"offer","data":{}}"#)?.field == "sdp")
        #expect(bodyRefusal(#"{"action":"end","deviceId":"é"}"#)?.field == "deviceId")
        #expect(bodyRefusal(#"{"action":"end","data":{"reason":1,"reason":2}}"#)?.code == .invalidJSON)
        #expect(bodyRefusal("[]")?.code == .invalidJSON)
        #expect(bodyRefusal("")?.code == .invalidJSON)
    }

    @Test("A body that is not UTF-8 is refused for that reason")
    func utf8() {
        #expect(throws: WireError.json(.notUTF8)) {
            try SignalMessage(
                body: bytes(#"{"action":""#) + [0xFF] + bytes(#""}"#),
                callIDInPath: nil,
                ringTimeout: .seconds(1)
            )
        }
    }
}

@Suite("A relayed signal")
struct RelayTests {
    private func place() throws -> LogPosition {
        LogPosition(
            in: EncodedLogIdentity(LogIdentity(callID: try #require(CallID("c-1")), room: "p2p:11-10", epoch: 2)),
            seq: 7,
            at: Moment(milliseconds: 5)
        )
    }

    private func frame(_ message: SignalMessage, offer: RelayedSignal.OfferExtras? = nil) throws -> [UInt8] {
        RelayedSignal.frame(
            message.signal.kind,
            id: message.id,
            at: try place(),
            from: try EncodedSender(#require(UserID("11")), #require(DeviceID("a1"))),
            offer: offer,
            around: message.relayed
        )
    }

    @Test(
        "A relayed signal has the sender's members byte for byte",
        arguments: [
            #""candidate":{ "candidate" : "candidate:1 1 UDP 1 1.2.3.4 5 typ host\r\n","sdpMLineIndex":0.0e0}"#,
            #""candidate":{"x":"\u00e9\uD83D\uDE00\/é"},"mine":[1,  2,{"a":null}],"\u006dine2":"\ud83d\ude00""#,
            #""candidate":null,"n":-0.0E+00,"e":"""#, #""candidate":{"to":"x","seq":5,"from":1}"#,
        ]
    )
    func identical(_ members: String) throws {
        let message = try #require(try signal(#"{"type":"ice", \#(members) ,"callId":"c-1"}"#))
        let whole = text(try frame(message))
        #expect(
            whole
                == #"{"type":"ice","callId":"c-1","room":"p2p:11-10","epoch":2,"seq":7,"ts":5,"from":"11","fromDevice":"a1",\#(members)}"#
        )
    }

    @Test("A relayed signal lacks the sender's copies of members that the server writes, even under escaped names")
    func forged() throws {
        let message = try #require(
            try signal(
                #"{"type":"ringing","from":"9","\u0066romDevice":"x","seq":1,"ts":0,"room":"p2p:11-10","epoch":2,"token":"t","callUUID":"u","ringUntil":1,"waiting":true,"keep":1}"#
            )
        )
        #expect(message.relayedText == #""keep":1"#)
    }

    @Test("A relayed offer has the values that the server computed, each once")
    func offer() throws {
        let message = try #require(
            try signal(
                #"{"type":"offer","id":"i\"","sdp":"v=0\r\n","hasVideo":false,"displayName":"x","callUUID":"forged"}"#
            )
        )
        let extras = RelayedSignal.OfferExtras(
            hasVideo: true,
            displayName: "山\"",
            callUUID: "u",
            ringUntil: Moment(milliseconds: 9),
            isWaiting: true
        )
        let object = try #require(RelayedObject(try frame(message, offer: extras)))
        #expect(object.value(of: .hasVideo).map(Array.init) == bytes("true"))
        #expect(object.value(of: .displayName).map(Array.init) == bytes(#""山\"""#))
        #expect(object.value(of: .callUUID).map(Array.init) == bytes(#""u""#))
        #expect(object.value(of: .ringUntil).map(Array.init) == bytes("9"))
        #expect(object.value(of: .waiting).map(Array.init) == bytes("true"))
        #expect(object.value(of: .id).map(Array.init) == bytes(#""i\"""#))
        #expect(object.value(of: .sdp).map(Array.init) == bytes(#""v=0\r\n""#))
    }

    @Test("A fetched signal's `data` has only the members of the sender, without those that the server added")
    func ownMembers() throws {
        let message = try #require(try signal(#"{"type":"ice","id":"i","candidate":{"a":1},"x":1}"#))
        let object = try #require(RelayedObject(try frame(message)))
        #expect(String(decoding: object.ownMembers, as: UTF8.self) == #""candidate":{"a":1},"x":1"#)
        #expect(RelayedObject([]) == nil)
    }
}
