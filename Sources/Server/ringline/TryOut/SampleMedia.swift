/// Session descriptions and candidates as a browser writes them, to try signaling without media.
///
/// The candidates' addresses are reserved for documentation (RFC 5737) and lead nowhere.
enum SampleMedia {
    static func offer(hasVideo: Bool) -> String { description(setup: "actpass", ufrag: "EsAw", hasVideo: hasVideo) }

    static func answer(hasVideo: Bool) -> String { description(setup: "active", ufrag: "x9Qd", hasVideo: hasVideo) }

    /// Returns candidates as JSON objects.
    static func candidates(ufrag: String) -> [String] {
        (1...3).map { number in
            "{\"candidate\":\"candidate:\(number) 1 udp \(2_122_260_223 - number) 192.0.2.\(number) \(50_000 + number) typ host "
                + "generation 0 ufrag \(ufrag)\",\"sdpMid\":\"0\",\"sdpMLineIndex\":0}"
        }
    }

    private static func description(setup: String, ufrag: String, hasVideo: Bool) -> String {
        var lines = [
            "v=0", "o=- 4611731400430051336 2 IN IP4 127.0.0.1", "s=-", "t=0 0",
            hasVideo ? "a=group:BUNDLE 0 1" : "a=group:BUNDLE 0", "a=msid-semantic: WMS *",
        ]
        lines += media("m=audio 9 UDP/TLS/RTP/SAVPF 111 0", mid: 0, setup, ufrag)
        lines += ["a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1", "a=rtpmap:0 PCMU/8000"]
        if hasVideo {
            lines += media("m=video 9 UDP/TLS/RTP/SAVPF 96", mid: 1, setup, ufrag)
            lines += ["a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli"]
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    private static func media(_ line: String, mid: Int, _ setup: String, _ ufrag: String) -> [String] {
        [
            line, "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0", "a=ice-ufrag:\(ufrag)",
            "a=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y", "a=ice-options:trickle",
            "a=fingerprint:sha-256 8F:F5:2C:91:ED:7D:50:94:40:AA:7F:BF:04:AD:60:AD:"
                + "55:4E:4A:01:F1:01:E5:22:29:16:E7:0F:9F:68:FB:45",
            "a=setup:\(setup)", "a=mid:\(mid)", "a=sendrecv", "a=rtcp-mux",
        ]
    }
}
