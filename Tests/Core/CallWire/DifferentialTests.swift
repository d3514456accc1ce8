import CallCore
import JSON
import SeededRandom
import Testing

@testable import CallWire

/// Tests that a faster parser reads everything as the first one did.
///
/// The numbers are digests of the outcomes of the parser before it read a frame in one pass: each value of an accepted
/// message, and code, field and text of each error. They changed once since then: with the alphabet of ids, and the texts
/// about it.
@Suite("The parsers of frames and bodies compared with their first version")
struct DifferentialTests {
    private static let kinds = [
        "offer", "ringing", "answer", "ice", "connected", "update", "dtmf", "info", "end", "join", "leave", "auth",
        "sync", "message", "presence", "Offer", "", "i\\u0063e", "\\ud800", "ice\\u0000", "offers-and-answers", "é",
    ]
    /// Values that a field may have or must not have.
    private static let values = [
        "null", "true", "false", "0", "1", "-1", "1.0", "4294967296", "9007199254740993", "\"\"", "\"a\"",
        #""\u0061b""#, #""\ud800""#, #""\ud83d\ude00""#, "{}", "[]", "\"a b\"", "\"é\"", "\"\u{1}\"",
        "\"abcdefgh\"", "\"abcdefghi\"", "\"" + String(repeating: "x", count: 64) + "\"",
        "\"" + String(repeating: "x", count: 65) + "\"", "\"" + String(repeating: "y", count: 128) + "\"",
        "\"" + String(repeating: "y", count: 129) + "\"", #""v=0""#, #""v=0\r\nm=video 9 x\r\n""#, #""v\u003d0""#,
        #""v=0x""#, #"{"a":{"seq":1},"b":7}"#, #"{"a":{"seq":1,"seq":1}}"#, #"{"sdp":"v=0"}"#, "\"p2p:11-10\"", "12",
    ]

    private static func describe(_ message: SignalMessage) -> String {
        let texts = [
            "\(message.content)", message.id?.text, message.callID?.text, message.to?.text, message.room,
            message.epoch.map { "\($0)" }, message.from?.text, message.device?.text, message.displayName,
            String(decoding: message.relayed.bytes, as: UTF8.self), "\(message.relayed.byteCount)",
        ]
        return texts.map { $0 ?? "-" }.joined(separator: "|")
    }

    private static func describe(_ error: WireError) -> String {
        "\(error.code)|\(error.message)|\(error.field ?? "-")"
    }

    private static func frame(_ text: [UInt8]) -> String {
        do throws(ClientMessage.Refusal) {
            let message = try ClientMessage(text, ringTimeout: .seconds(45))
            let id = message.id?.text ?? "-"
            switch message.takeRequest() {
            case .signal(let signal): return id + describe(signal)
            case .join(let room): return id + "join" + room
            case .leave(let room): return id + "leave" + room
            case .auth(let token): return id + "auth" + token
            case .sync(let cursors):
                let texts = cursors.sorted { $0.key < $1.key }.map { call, cursor in
                    "\(call.text) \(cursor.epoch ?? 0) \(cursor.seq)"
                }
                return id + texts.joined(separator: ",")
            case .message(let text):
                return id + text.to.text + text.body + String(decoding: text.relayed, as: UTF8.self)
            case .presence(let user): return id + "presence" + user.text
            case .watch(let callID, let user): return id + "watch" + (callID?.text ?? "") + (user?.text ?? "")
            }
        } catch { return "\(error.id?.text ?? "-")|" + describe(error.error) }
    }

    private static func body(_ text: [UInt8]) -> String {
        do throws(WireError) {
            return describe(try SignalMessage(body: text, callIDInPath: nil, ringTimeout: .seconds(45)))
        } catch { return describe(error) }
    }

    private static func digest(_ texts: [[UInt8]]) -> UInt64 {
        SDP.digest(texts.flatMap { Array((frame($0) + "\n" + body($0) + "\n").utf8) })
    }

    @Test(
        "Damaged frames and bodies",
        arguments: [
            (11, 3_808_821_573_891_826_587), (12, 1_729_579_220_903_690_252), (13, 149_991_555_631_552_527),
            (14, 3_583_498_529_810_396_116),
        ] as [(UInt64, UInt64)]
    )
    func mutations(_ seed: UInt64, _ expected: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let digest = Self.digest((0..<3_000).map { _ in FuzzTests.mutated(&generator) })
        #expect(digest == expected)
    }

    @Test("Each field with each kind of value, in each kind of frame")
    func fields() {
        var texts: [[UInt8]] = []
        for (row, kind) in Self.kinds.enumerated() {
            // The first version did not know these fields.
            let laterFields: [Field] = [.shown, .why, .confirm, .scheduled, .handle, .handleType]
            for field in Field.allCases where !laterFields.contains(field) {
                for (column, value) in Self.values.enumerated() {
                    let base = #"{"type":"\#(kind)","sdp":"v=0\r\n","candidate":null,"digits":"1","data":1,"to":"12""#
                    // A part of the combinations is enough; a repeated field is refused.
                    switch (row + column + Int(field.rawValue)) % 6 {
                    case 0: texts.append(bytes(#"{"type":"\#(kind)","\#(field.name)":\#(value)}"#))
                    case 3: texts.append(bytes(base + #","\#(field.name)":\#(value)}"#))
                    default: continue
                    }
                }
            }
        }
        #expect(Self.digest(texts) == 218_234_134_193_780_816)
    }

    @Test("A description is read as it is written like its decoded text", arguments: [21, 22])
    func descriptions(_ seed: UInt64) throws {
        let pieces = [
            "v=0", "m=video 9 x", "m=video 0", "m=video 0/2", #"m=video 0\/2"#, #"m=video 9\/2"#, "m=video ", "m=video",
            "m=audio 9 x", "m=", "m", #"m=video 0\"#, #"m=video 0\r"#, #"m=video 00\t"#, "a=inactive", "a=sendrecv",
            "a=sendonly", "a=recvonly", "a=inactive ", "a=inactiv", "a=sendrecvx", #"a=inactive\r"#, #"a=inactive\/"#,
            #"a=mid:0"#, "a=", "x", "é日😀", "12345678", #"\"\\\/\b\f\t"#, #"\\n"#, #"\\r\\n"#,
        ]
        let ends = [#"\r\n"#, #"\n"#, #"\r"#, #"\r\r\n"#, "", #"\n\n"#, #"\r\n"#, #"\r\n"#]
        var generator = SeededGenerator(seed: seed)
        for round in 0..<10_000 {
            var text = Bool.random(using: &generator) ? "v=0" + ends[round % ends.count] : ""
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                text += pieces[Int.random(in: 0..<pieces.count, using: &generator)]
                text += ends[Int.random(in: 0..<ends.count, using: &generator)]
            }
            // A piece may end with a backslash that the next piece makes an escape of.
            guard let object = try? JSONObject(bytes(#"{"sdp":"\#(text)"}"#)) else { continue }
            let member = try #require(object[.sdp])
            let inner = member.value.lowerBound + 1..<member.value.upperBound - 1
            let decoded = try #require(JSONText.decoded(object.bytes[inner]))
            #expect(SessionDescription(written: object.bytes.span.extracting(inner)) == SessionDescription(decoded))
        }
    }

    @Test("A description with hex digits in an escape is decoded")
    func hexDigits() throws {
        let frame = #"{"type":"offer","to":"10","sdp":"v=0\r\n\u006d=video 9 x\r\n"}"#
        #expect(SessionDescription(written: bytes(#"v=0\u000a"#).span) == nil)
        #expect(try signal(frame)?.offer?.hasVideo == true)
        #expect(try signal(frame)?.offer?.digest == SDP.digest(bytes("v=0\r\nm=video 9 x\r\n")))
    }
}
