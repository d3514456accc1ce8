import CallCore
import CallPorts
import CallWire
import Switchboard

/// The same texts and ids as in `load/dialect.c`, so that these counts and the load generator's times are of
/// the same work.
enum Inputs {
    static let start = Moment(milliseconds: 1_700_000_000_000)
    static let ringTimeout = Moment.Duration.seconds(45)
    static let candidateBytes = 180

    /// A session description as long as a browser's for an audio call, with JSON escapes.
    static let description = [
        "v=0", "o=- 4611731400430051336 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=msid-semantic: WMS",
        "m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0",
        "a=ice-ufrag:EsAw", "a=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y", "a=ice-options:trickle",
        "a=fingerprint:sha-256 DA:7B:57:DC:28:CE:04:4F:31:79:85:C4:31:67:EB:27:58:29:ED:77:2A:0D:24:AE:ED:AD:30:BC:BD:F1:9C:02",
        "a=setup:actpass", "a=mid:0", "a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level", "a=sendrecv",
        "a=rtcp-mux", "a=rtpmap:111 opus/48000/2", "a=rtcp-fb:111 transport-cc",
        "a=fmtp:111 minptime=10;useinbandfec=1", "a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111", "a=rtpmap:9 G722/8000",
        "a=rtpmap:0 PCMU/8000", "a=rtpmap:8 PCMA/8000", "a=rtpmap:13 CN/8000", "a=rtpmap:110 telephone-event/48000",
        "a=rtpmap:126 telephone-event/8000",
    ].map { $0 + #"\r\n"# }.joined()

    /// Returns the number with at least five digits.
    static func padded(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 5 - digits.count)) + digits
    }

    static func callName(_ number: Int) -> String { "b12345-1-\(padded(number))" }
    static func userName(_ side: Side, _ number: Int) -> String {
        "\(side == .caller ? "c" : "e")12345-1-\(padded(number))"
    }

    static func user(_ side: Side, _ number: Int) throws -> UserID {
        try made(UserID(userName(side, number)), "a user")
    }

    static func device(_ side: Side, _ number: Int) throws -> DeviceID {
        try made(DeviceID("d-" + userName(side, number)), "a device")
    }

    static func call(_ number: Int) throws -> CallID { try made(CallID(callName(number)), "a call") }
    static func signal(_ text: String) throws -> SignalID { try made(SignalID(text), "a signal's id") }

    static func principal(_ side: Side, _ number: Int) throws -> Principal {
        Principal(user: try user(side, number), fingerprint: fingerprint(side, number))
    }

    static func fingerprint(_ side: Side, _ number: Int) -> TokenFingerprint {
        TokenFingerprint(rawValue: 0x5EED_0000_0000_0000 | UInt64(number) << 1 | (side == .caller ? 0 : 1))
    }

    /// Returns an offer to the callee with this number.
    static func offer(_ call: String, to callee: Int) -> [UInt8] {
        bytes(
            #"{"type":"offer","id":"o","callId":"\#(call)","to":"\#(userName(.callee, callee))","#
                + #""sdp":"\#(description)"}"#
        )
    }

    static func answer(_ call: String) -> [UInt8] {
        bytes(#"{"type":"answer","id":"a","callId":"\#(call)","sdp":"\#(description)"}"#)
    }

    static func end(_ call: String) -> [UInt8] { bytes(#"{"type":"end","id":"e","callId":"\#(call)"}"#) }

    /// Returns the `candidate` object of a frame, padded so that the frame is as long as the load generator's.
    static func candidate(_ number: Int, _ side: Side) -> String {
        let head = #"{"candidate":"candidate:\#(padded(number)) 00001\#(side == .caller ? "c" : "e") 1 udp 2122260223 "#
        let text = head + "192.0.2.1 9 typ host 0123456789ab"
        let tail = #"","sdpMid":"0"}"#
        let frame = envelope(signalName(number), callName(1), text + tail).utf8.count
        return text + String(repeating: "x", count: max(0, candidateBytes - frame)) + tail
    }

    static func signalName(_ number: Int) -> String { "i" + padded(number) }

    static func candidateFrame(_ number: Int, _ side: Side, in call: String) -> [UInt8] {
        bytes(envelope(signalName(number), call, candidate(number, side)))
    }

    /// Returns a candidate's frame with UUIDs as ids, as a browser may use them.
    ///
    /// A UUID is too long for the inline storage of a `String`.
    static func candidateFrameWithUUIDs(_ number: Int, _ side: Side) -> [UInt8] {
        bytes(envelope("9b1deb4d-3b7d-4bad-9bdd-2b0d7b3\(padded(number))", callUUID, candidate(number, side)))
    }

    static let callUUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

    private static func envelope(_ id: String, _ call: String, _ candidate: String) -> String {
        #"{"type":"ice","id":"\#(id)","callId":"\#(call)","candidate":\#(candidate)}"#
    }

    static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
}
