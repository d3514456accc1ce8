import CallClient
import CallCore
import ClientBridge
import Testing

@Suite("The bridge of JSON texts")
struct BridgeTests {
    private static let uuid = "6f9619ff-8b86-4d01-b42d-00cf4fc964f0"
    private let now = Moment(milliseconds: 1_700_000_000_000)

    private func make(_ configuration: String) throws(BridgeFault) -> BridgedClient {
        try BridgedClient(configuration: Array(configuration.utf8))
    }

    private func client() throws -> BridgedClient {
        try make(#"{"user":"11","device":"web-a","signalIDPrefix":"p"}"#)
    }

    /// Returns the message of the fault; `nil` if there is none.
    private func fault(_ run: () throws(BridgeFault) -> Void) -> String? {
        do throws(BridgeFault) {
            try run()
            return nil
        } catch { return error.line }
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("An input becomes the outputs of the core, in order")
    func outputs() throws {
        var client = try client()
        let start = #"{"in":"startCall","uuid":"\#(Self.uuid)","callId":"c-1","to":"10","hasVideo":true}"#
        #expect(
            text(try client.handle(Array(start.utf8), at: now))
                == #"[{"out":"makeOffer","uuid":"\#(Self.uuid)","round":1,"hasVideo":true,"restartsICE":false},{"out":"connect","urgent":true}]"#
        )
        #expect(client.client.calls.first?.peer == UserID("10"))
        let state = text(client.state)
        #expect(state.contains(#""calls":[{"uuid":"\#(Self.uuid)","callId":"c-1","peer":"10","side":"caller""#))
    }

    @Test("A text that the bridge does not interpret keeps each byte")
    func texts() throws {
        var client = try client()
        let offer =
            #"{\"type\":\"offer\",\"callId\":\"\#(Self.uuid)\",\"epoch\":1,\"seq\":1,\"from\":\"10\",\"fromDevice\":\"d\",\"room\":\"p2p:10-11\",\"sdp\":\"v=0\\r\\n\"}"#
        let info =
            #"{\"type\":\"info\",\"callId\":\"\#(Self.uuid)\",\"epoch\":1,\"seq\":2,\"from\":\"10\",\"fromDevice\":\"d\",\"room\":\"p2p:10-11\",\"data\":12345678901234567890}"#
        _ = try client.handle(Array(#"{"in":"received","frame":"\#(offer)"}"#.utf8), at: now)
        let outputs = try client.handle(Array(#"{"in":"received","frame":"\#(info)"}"#.utf8), at: now)
        #expect(text(outputs).contains(#""data":"12345678901234567890""#))
    }

    @Test("A scheduled call comes with its schedule and its data, which keep each byte, and can be confirmed")
    func scheduled() throws {
        var client = try client()
        let push =
            #"{"in":"pushed","payload":{"callId":"c-1","epoch":1,"fromUserId":"wake","callUUID":"\#(Self.uuid)","#
            + #""fromDisplayName":"Mina","handle":"+82","handleType":"phoneNumber","scheduled":true,"data":{"n":1.0}}}"#
        let peer = #""handle":"+82","handleType":"phoneNumber","name":"Mina","hasVideo":false,"scheduled":true"#
        let pushed = text(try client.handle(Array(push.utf8), at: now))
        #expect(
            pushed.hasPrefix(#"[{"out":"reportIncoming","uuid":"\#(Self.uuid)",\#(peer),"data":"{\"n\":1.0}"},"#)
        )
        let offer =
            #"{\"type\":\"offer\",\"callId\":\"c-1\",\"epoch\":1,\"seq\":1,\"from\":\"wake\",\"room\":\"p2p:wake-11\",\"displayName\":\"Mina\","#
            + #"\"hasVideo\":false,\"scheduled\":true,\"schedule\":\"s-1\",\"data\":12345678901234567890}"#
        let received = text(try client.handle(Array(#"{"in":"received","frame":"\#(offer)"}"#.utf8), at: now))
        let update = #"\#(peer),"schedule":"s-1","data":"12345678901234567890"}"#
        #expect(received.hasPrefix(#"[{"out":"update","uuid":"\#(Self.uuid)",\#(update)"#))
        let answered = text(try client.handle(Array(#"{"in":"answer","uuid":"\#(Self.uuid)"}"#.utf8), at: now))
        #expect(answered.contains(#"{"out":"reportConnected","uuid":"\#(Self.uuid)"}"#))
        #expect(client.client.calls.first?.phase == .active)
        let state = text(client.state)
        #expect(
            state.contains(#""scheduled":true,"schedule":"s-1","data":"12345678901234567890","held":false}"#),
            "\(state)"
        )
        let waiting = client.client.unacknowledgedCount
        _ = try client.handle(Array(#"{"in":"confirm","uuid":"\#(Self.uuid)"}"#.utf8), at: now)
        #expect(client.client.unacknowledgedCount == waiting + 1)
    }

    @Test(
        "A malformed input is refused with the name of the member",
        arguments: [
            (#"{"in":"answer","uuid":"x"}"#, "uuid: must be a UUID"),
            (#"{"in":"answer","uuid":7}"#, "uuid: must be a string of valid Unicode"),
            (#"{"in":"answer"}"#, "uuid: is missing"),
            (#"{"in":"confirm"}"#, "uuid: is missing"),
            (#"{"in":"answer","uuid":null}"#, "uuid: is missing"),
            (#"{"in":"answers"}"#, "in: there is no input answers"),
            (#"{}"#, "in: is missing"),
            (#"{"in":"connectionOpened","uuid":"x"}"#, "uuid: is not a member of this object"),
            (#"{"in":"connectionOpened","mine":1}"#, "mine: is not a member of this object"),
            (#"{"in":"connectionOpened","in":"connectionClosed"}"#, "in: occurs twice"),
            (#"{"in":"setHeld","uuid":"\#(uuid)","held":1}"#, "held: must be true or false"),
            (#"{"in":"end","uuid":"\#(uuid)","reason":"bored"}"#, "reason: must be an end reason"),
            (#"{"in":"localCandidate","uuid":"\#(uuid)","round":1}"#, "candidate: is missing"),
            (#"{"in":"localCandidate","uuid":"\#(uuid)","round":-1,"candidate":null}"#, "round: is out of range"),
            (
                #"{"in":"localCandidate","uuid":"\#(uuid)","round":1.5,"candidate":null}"#,
                "round: must be a whole number"
            ),
            (#"{"in":"fetched","number":1,"status":70000}"#, "status: is out of range"),
            (#"{"in":"pushed","payload":[]}"#, "payload: must be an object"),
            (#"{"in":"received","frame":"\ud800"}"#, "frame: must be a string of valid Unicode"),
            (#"["in"]"#, "the text must be a JSON object"),
            (#"{"in":"answer""#, "the text must be valid JSON"),
        ]
    )
    func faults(_ input: String, _ message: String) throws {
        var client = try client()
        let before = client.client.calls
        #expect(fault { () throws(BridgeFault) in _ = try client.handle(Array(input.utf8), at: now) } == message)
        #expect(client.client.calls == before)
    }

    @Test(
        "A malformed configuration is refused with the name of the member",
        arguments: [
            (#"{"device":"d","signalIDPrefix":"p"}"#, "user: is missing"),
            (#"{"user":"a b","device":"d","signalIDPrefix":"p"}"#, "user: must be a user id"),
            (#"{"user":"11","device":"","signalIDPrefix":"p"}"#, "device: must be a device id"),
            (#"{"user":"11","device":"d","signalIDPrefix":""}"#, "signalIDPrefix: must be 1 to 40 bytes"),
            (
                #"{"user":"11","device":"d","signalIDPrefix":"p","ringTimeout":45}"#,
                "ringTimeout: must be 5000 to 120000"
            ),
            (#"{"user":"11","device":"d","signalIDPrefix":"p","maximumCalls":0}"#, "maximumCalls: must be 1 to 16"),
            (#"{"user":"11","device":"d","signalIDPrefix":"p","clockSkew":"1"}"#, "clockSkew: must be a whole number"),
        ]
    )
    func configurations(_ configuration: String, _ message: String) {
        #expect(fault { () throws(BridgeFault) in _ = try make(configuration) } == message)
    }

    @Test("The configuration reaches the core")
    func configuration() throws {
        let client = try make(
            #"{"user":"11","device":"d","signalIDPrefix":"p","displayName":"太郎","ringTimeout":5000,"maximumCalls":1,"clockSkew":-7}"#
        )
        let configuration = client.client.configuration
        #expect(configuration.displayName == "太郎" && configuration.ringTimeout == .seconds(5))
        #expect(configuration.capacity == 1 && client.client.clockSkew == .milliseconds(-7))
    }

    @Test("A response that never came is a failure, and a push may hold anything")
    func incomplete() throws {
        var client = try client()
        let inputs = [
            #"{"in":"fetched","number":1,"status":0}"#, #"{"in":"posted","id":"p-1","status":0,"body":""}"#,
            #"{"in":"pushed","payload":{"a":[1],"b":-7,"c":1.5,"d":null,"callId":"\ud800"}}"#,
        ]
        for input in inputs.dropLast() { #expect(text(try client.handle(Array(input.utf8), at: now)) == "[]") }
        let outputs = text(try client.handle(Array(inputs[2].utf8), at: now))
        #expect(outputs.hasPrefix(#"[{"out":"reportIncoming","#), "iOS demands a report for each push")
    }
}
