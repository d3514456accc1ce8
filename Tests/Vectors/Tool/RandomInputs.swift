import CallClient
import CallCore
import ClientBridge
import Foundation
import SeededRandom

/// Random inputs in random order, most of which concern the calls that the core has at that moment.
struct RandomInputs {
    private var generator: SeededGenerator
    private var step = Step()
    private var now: Int64 = 0
    private var seq = 0
    /// The members of the description that the core asked for last.
    private var wanted: String?

    private static let uuids = (0..<4).map { "6f9619ff-8b86-4d01-b42d-00cf4fc964f\($0)" }
    private static let reasons = ["hangup", "cancelled", "declined", "busy", "failed", "glare", "answered_elsewhere"]

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// Returns the vector of a new core.
    mutating func vector(steps: Int) -> Vector {
        step = Step()
        now = 1_700_000_000_000
        seq = 0
        wanted = nil
        var lines = [
            Array(
                #"{"new":{"user":"10","device":"d1","signalIDPrefix":"p","ringTimeout":30000,"maximumCalls":2,"awaitsReports":true}}"#
                    .utf8
            )
        ]
        // The inputs depend on the state of a core that takes them as well.
        for line in lines { take(line) }
        for _ in 0..<steps {
            now += Int64(generator.below(generator.percent(1) ? 60_000 : 300))
            let line = Array("{\"now\":\(now),\"input\":{\(input())}}".utf8)
            take(line)
            lines.append(line)
        }
        return Vector(inputs: lines)
    }

    private mutating func take(_ line: [UInt8]) {
        do throws(BridgeFault) {
            let outputs = String(decoding: try step.take(line) ?? [], as: UTF8.self)
            if let one = outputs.firstMatch(of: /"out":"make(Offer|Answer)","uuid":"([^"]*)","round":(\d+)/) {
                wanted = #""uuid":"\#(one.2)","round":\#(one.3),"kind":"\#(one.1.lowercased())""#
            }
        } catch {
            fatalError("\(error.line) in \(String(decoding: line, as: UTF8.self))")
        }
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(generator.below(values.count))] }

    private mutating func flag() -> Bool { generator.percent(50) }

    /// Returns a call of the core, most often a live one; `nil` now and then.
    private mutating func call() -> CallClient.Call? {
        let all = step.core?.client.calls ?? []
        let live = all.filter(\.isLive)
        let calls = live.isEmpty || generator.percent(10) ? all : live
        return calls.isEmpty || generator.percent(10) ? nil : pick(calls)
    }

    private mutating func uuid() -> String { call()?.uuid.text ?? pick(Self.uuids) }

    private mutating func round() -> Int { 1 + Int(generator.below(3)) }

    private mutating func sdp() -> String {
        let video = flag() ? #"m=video 9 UDP\r\n"# : ""
        return #"v=0\r\no=- \#(generator.below(9)) 1 IN IP4 0.0.0.0\r\nm=audio 9 UDP\r\n\#(video)"#
    }

    /// Returns text that was escaped once more, as the content of a JSON string.
    private func text(_ json: String) -> String {
        "\"" + json.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    private mutating func input() -> String {
        switch generator.below(27) {
        case 0:
            #""in":"startCall","uuid":"\#(pick(Self.uuids))","callId":"\#(pick(Self.uuids))","to":"\#(pick(["11", "12", "10"]))","hasVideo":\#(flag())"#
        case 1: #""in":"answer","uuid":"\#(uuid())""#
        case 2 where generator.percent(20):
            #""in":"end","uuid":"\#(uuid())""# + (flag() ? #","reason":"\#(pick(Self.reasons))""# : "")
        case 3: #""in":"setHeld","uuid":"\#(uuid())","held":\#(flag())"#
        case 4: #""in":"setMuted","uuid":"\#(uuid())","audio":\#(flag())"# + (flag() ? #","video":\#(flag())"# : "")
        case 5 where flag(): #""in":"confirm","uuid":"\#(uuid())""#
        case 5: #""in":"playDTMF","uuid":"\#(uuid())","digits":"\#(pick(["1", "12#", "x", ""]))""#
        case 6:
            #""in":"sendInfo","uuid":"\#(uuid())","data":\#(text(pick([#"{"a":"é\"\\\n太"}"#, "12345678901234567890", "{"])))"#
        case 7:
            #""in":"renegotiate","uuid":"\#(uuid())","restartsICE":\#(flag())"#
                + (flag() ? #","hasVideo":\#(flag())"# : "")
        case 2, 8: #""in":"\#(pick(["audioActivated", "audioDeactivated", "tokenExpired", "tokenRenewed"]))""#
        case 9: generator.percent(3) ? #""in":"providerReset""# : #""in":"deadlineReached""#
        case 10, 11, 12:
            if generator.percent(70), let wanted {
                #""in":"localDescription",\#(wanted),"sdp":"\#(sdp())""#
            } else {
                #""in":"localDescription","uuid":"\#(uuid())","round":\#(round()),"kind":"\#(pick(["offer", "answer"]))","sdp":"\#(sdp())""#
            }
        case 13:
            #""in":"localCandidate","uuid":"\#(uuid())","round":\#(round()),"candidate":\#(generator.percent(75) ? text(#"{"candidate":"c\#(generator.below(9))"}"#) : "null")"#
        case 14 where generator.percent(30):
            #""in":"negotiationFailed","uuid":"\#(uuid())","round":\#(round())"#
        case 14: #""in":"\#(generator.percent(85) ? "mediaConnected" : "mediaFailed")","uuid":"\#(uuid())""#
        case 15: #""in":"\#(pick(["connectionOpened", "connectionClosed"]))""#
        case 16, 17, 18, 19: #""in":"received","frame":\#(text("{\(frame())}"))"#
        case 20: #""in":"received","frame":\#(text(receipt()))"#
        case 21:
            #""in":"fetched","number":\#(1 + generator.below(40)),"status":\#(pick([0, 200, 200, 404, 401, 503])),"body":\#(text(log()))"#
        case 22:
            #""in":"posted","id":"p-\#(1 + generator.below(60))","status":\#(pick([0, 200, 200, 409, 429])),"body":\#(text(receipt()))"#
        case 23:
            generator.percent(80)
                ? #""in":"reportSucceeded","uuid":"\#(uuid())""#
                : #""in":"reportFailed","uuid":"\#(uuid())","why":"\#(pick(Silence.allCases).rawValue)""#
        case 24 where generator.percent(20): #""in":"answerTimedOut","uuid":"\#(uuid())""#
        default: #""in":"pushed","payload":\#(push())"#
        }
    }

    /// Returns the members of the envelope of a call's log entry.
    private mutating func envelope() -> String {
        let call = call()
        let epoch = call?.epoch.map { Int($0) } ?? 1 + Int(generator.below(2))
        seq += 1
        let peer = call?.peer.text ?? pick(["11", "12"])
        return
            #""callId":"\#(call?.callID.text ?? pick(Self.uuids))","room":"\#(flag() ? "p2p:\(peer)-10" : "p2p:10-\(peer)")","epoch":\#(epoch),"#
            + #""seq":\#(max(1, seq - (generator.percent(15) ? generator.below(4) : 0))),"ts":\#(now),"from":"\#(generator.percent(85) ? peer : "10")","fromDevice":"\#(pick(["d1", "d2", "d3"]))","id":"x\#(generator.percent(90) ? seq : generator.below(40))""#
    }

    private mutating func frame() -> String {
        let envelope = envelope()
        return switch generator.below(12) {
        case 0 where flag():
            #""type":"offer",\#(envelope),"hasVideo":false,"displayName":"T","callUUID":"\#(pick(Self.uuids))","ringUntil":\#(now + Int64(generator.below(60_000))),"media":"none","scheduled":\#(generator.percent(90)),\#(schedule())"#
        case 0, 1, 2:
            #""type":"offer",\#(envelope),"sdp":"\#(sdp())","hasVideo":\#(flag()),"displayName":"\#(pick(["T", "  ", "山田 \\\"太郎\\\""]))","callUUID":"\#(pick(Self.uuids))","ringUntil":\#(now + Int64(generator.below(60_000))),"round":\#(round())"#
        case 3, 4: #""type":"answer",\#(envelope),"sdp":"\#(sdp())","round":\#(round())"#
        case 5: #""type":"ringing",\#(envelope)"#
        case 6, 7:
            #""type":"ice",\#(envelope),"candidate":\#(generator.percent(80) ? #"{"candidate":"r\#(generator.below(9))"}"# : "null"),"round":\#(round())"#
        case 8: #""type":"update",\#(envelope),"hold":\#(flag())"#
        case 9 where generator.percent(20): #""type":"end",\#(envelope),"reason":"\#(pick(Self.reasons))""#
        case 10: #""type":"\#(pick(["connected", "dtmf", "info"]))",\#(envelope),"digits":"5","data":{"z":[1,2]}"#
        default:
            #""type":"call",\#(envelope),"state":"\#(pick(generator.percent(20) ? ["ended"] : ["ringing", "answered", "active"]))","reason":"\#(pick(Self.reasons))","answeredBy":{"user":"10","device":"\#(pick(["d1", "d2"]))"},"replacedBy":"\#(pick(Self.uuids))""#
        }
    }

    /// Returns the members that only a scheduled call has.
    private mutating func schedule() -> String {
        let data = pick([#"{"n":1.50}"#, #"[1, "é"]"#, #""text""#, "12345678901234567890", "null", #""{\"n\":1}""#])
        return
            #""schedule":"\#(pick(["s-1", "s 1"]))","handle":"+82","handleType":"\#(pick(["phoneNumber", "x"]))","data":\#(data)"#
    }

    /// Returns an ack, an error, or another object without an envelope.
    private mutating func receipt() -> String {
        let codes = ["rate_limited", "not_found", "call_ended", "already_answered", "token_expired", "call_exists"]
        let type = pick(["ack", "ack", "ack", "error", "draining", "welcome"])
        return
            #"{"type":"\#(type)","id":"p-\#(1 + generator.below(60))","callId":"\#(pick(Self.uuids))","epoch":\#(1 + generator.below(2)),"seq":\#(generator.below(9)),"#
            + #""state":"\#(pick(["ringing", "answered", "ended"]))","code":"\#(pick(codes))","reconnectAfterMs":\#(generator.below(9_000))}"#
    }

    private mutating func log() -> String {
        #"{\#(envelope()),"state":"\#(pick(["ringing", "answered", "active", "ended"]))","reason":"\#(pick(Self.reasons))","next":\#(generator.below(9)),"code":"not_found","signals":[{\#(frame())},{\#(frame())}]}"#
    }

    private mutating func push() -> String {
        switch generator.below(4) {
        case 0: pick(["{}", #"{"type":"x","callId":3.5,"z":[1]}"#, #"{"callId":-7,"fromUserId":11,"a":null}"#])
        case 1 where flag():
            #"{"type":"call.incoming","callId":"\#(pick(Self.uuids))","epoch":1,"fromUserId":"11","callUUID":"\#(pick(Self.uuids))","ringUntil":\#(now + Int64(generator.below(60_000))),"act":"a","scheduled":\#(pick(["true", #""true""#])),\#(schedule())}"#
        default:
            #"{"type":"call.incoming","callId":"\#(pick(Self.uuids))","epoch":\#(1 + generator.below(2)),"fromUserId":"\#(pick(["11", "12"]))","fromDisplayName":"山田","callUUID":"\#(pick(Self.uuids))","ringUntil":\#(now + Int64(generator.below(60_000))),"sentAt":\#(now - Int64(generator.below(5_000))),"act":"a","hasVideo":\#(flag())}"#
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func percent(_ chance: Int) -> Bool { below(100) < chance }
}
