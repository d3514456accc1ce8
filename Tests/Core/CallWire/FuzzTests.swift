import CallCore
import JSON
import SeededRandom
import Testing

@testable import CallWire

/// Tests with frames in which bytes are changed, removed, inserted, repeated and swapped.
@Suite("The parsers of frames and bodies with damaged input")
struct FuzzTests {
    private static let seeds = [
        #"{"type":"offer","id":"1","callId":"c-1","to":10,"sdp":"v=0\r\nm=video 9 RTP/AVP 31\r\n","hasVideo":true,"displayName":"山😀\u00e9","ringTimeout":30}"#,
        #"{"type":"ice","id":"2","callId":"c-1","candidate":{"candidate":"candidate:1 1 UDP 1 1.2.3.4 5","sdpMid":"0","n":[1.5e+3,-0,{}]}}"#,
        #"{"type":"sync","calls":{"a":1,"b":{"epoch":2,"seq":3}},"id":"\ud83d\ude00"}"#,
        #"{"action":"info","callId":"c","data":{"data":[[],{},"\\",null,true,false],"epoch":1},"deviceId":"d"}"#,
        #"{"type":"end","reason":"busy","epoch":1,"room":"p2p:11-10","x":"\u0000\uDBFF\uDFFF"}"#,
        #"{"type":"dtmf","digits":"0123456789*#ABCD,","callId":"11-10"}"#,
    ]
    private static let spice = Array(#"{}[]",:\u0tfn-+.eE19 "#.utf8) + [0x00, 0x7F, 0x80, 0xFF, 0x0A]

    /// Returns one of the seeds with a few random changes.
    static func mutated(_ generator: inout SeededGenerator) -> [UInt8] {
        var text = bytes(seeds[Int.random(in: 0..<seeds.count, using: &generator)])
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !text.isEmpty {
            let index = Int.random(in: 0..<text.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: text[index] = spice[Int.random(in: 0..<spice.count, using: &generator)]
            case 1: text.remove(at: index)
            case 2: text.insert(spice[Int.random(in: 0..<spice.count, using: &generator)], at: index)
            case 3: text.removeSubrange(index..<min(text.count, index + Int.random(in: 1...9, using: &generator)))
            case 4: text.insert(contentsOf: text[index..<min(text.count, index + 12)], at: index)
            default: text.swapAt(index, Int.random(in: 0..<text.count, using: &generator))
            }
        }
        return text
    }

    @Test("Damaged input causes no crash, and accepted messages are relayed as valid JSON", arguments: [1, 2, 3, 4])
    func mutations(_ seed: UInt64) throws {
        let call = try #require(CallID("c-1") as CallID?)
        let user = try #require(UserID("11") as UserID?)
        let device = try #require(DeviceID("d") as DeviceID?)
        var generator = SeededGenerator(seed: seed)
        var taken = 0
        for round in 0..<10_000 {
            let text = Self.mutated(&generator)
            // The transports pass on only valid UTF-8.
            guard JSONText.isUTF8(text) else { continue }
            var messages: [SignalMessage] = []
            if case .signal(let message)? = try? ClientMessage(text, ringTimeout: .seconds(45)).takeRequest() {
                messages.append(message)
            }
            if let message = try? SignalMessage(body: text, callIDInPath: nil, ringTimeout: .seconds(45)) {
                messages.append(message)
            }
            for message in messages {
                taken += 1
                let frame = RelayedSignal.frame(
                    message.signal.kind,
                    id: message.id,
                    at: LogPosition(
                        in: EncodedLogIdentity(
                            LogIdentity(callID: message.callID ?? call, room: "p2p:11-10", epoch: 1)
                        ),
                        seq: 1,
                        at: Moment(milliseconds: 1)
                    ),
                    from: EncodedSender(user, device),
                    around: message.relayed
                )
                guard RelayedObject(frame) != nil else {
                    Issue.record("seed \(seed), round \(round): \(String(decoding: text, as: UTF8.self))")
                    return
                }
            }
        }
        #expect(taken > 100, "too few mutations were accepted to prove anything")
    }

    @Test("An object made of another object's members has the same members", arguments: [5, 6])
    func rescan(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<10_000 {
            let text = Self.mutated(&generator)
            guard let object = try? JSONObject(text) else { continue }
            let again = bytes("{") + object.copy(leavingOut: []) + bytes("}")
            let second = try #require(try? JSONObject(again), "seed \(seed), round \(round)")
            #expect(second.members.map(\.kind) == object.members.map(\.kind), "seed \(seed), round \(round)")
        }
    }
}
