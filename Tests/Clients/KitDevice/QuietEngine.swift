import CallClient
import Foundation
import RinglineKit

/// A media engine that sends and plays nothing.
///
/// Its descriptions have the form of a browser's, so that a browser takes them: an answer repeats the offer's media. It says
/// that media flows when both descriptions and a candidate of the peer are there.
final class QuietEngine: MediaEngine {
    var events: (@MainActor @Sendable (MediaEvent) -> Void)?
    /// Takes a line about what the engine was told.
    var note: (String) -> Void = { _ in }

    private struct Media {
        var offer: String?
        var hasLocal = false
        var hasRemote = false
        var hasCandidate = false
        var isConnected = false
    }

    private var media: [CallUUID: Media] = [:]

    func use(_ servers: [ICEServer]) { note("servers \(servers.count)") }

    func makeOffer(_ call: CallUUID, round: UInt32, hasVideo: Bool, restartsICE: Bool) {
        var lines = ["v=0", "o=- 4611731400430051336 \(round) IN IP4 127.0.0.1", "s=-", "t=0 0"]
        lines.append(hasVideo ? "a=group:BUNDLE 0 1" : "a=group:BUNDLE 0")
        lines += Self.section("m=audio 9 UDP/TLS/RTP/SAVPF 111", "0", "actpass", ["a=rtpmap:111 opus/48000/2"])
        if hasVideo {
            lines += Self.section("m=video 9 UDP/TLS/RTP/SAVPF 96", "1", "actpass", ["a=rtpmap:96 VP8/90000"])
        }
        made(.offer, call, round, lines)
    }

    func makeAnswer(_ call: CallUUID, round: UInt32) {
        guard let offer = media[call]?.offer else { return }
        var lines: [String] = []
        for line in offer.split(whereSeparator: \.isNewline).map(String.init) {
            // The offer's own streams, keys and addresses are not the answer's.
            let own = [
                "a=ssrc", "a=msid", "a=ice-", "a=fingerprint", "a=candidate", "a=end-of-candidates", "a=extmap-allow",
            ]
            if own.contains(where: { line.hasPrefix($0) }) { continue }
            if line.hasPrefix("a=setup:") {
                lines += Self.keys + ["a=setup:active"]
            } else if line == "a=sendonly" {
                lines.append("a=recvonly")
            } else {
                lines.append(line)
            }
        }
        made(.answer, call, round, lines)
    }

    func setRemoteDescription(_ call: CallUUID, _ kind: CallClient.DescriptionKind, sdp: String) {
        note("set-\(kind.rawValue) \(sdp.utf8.count)")
        if kind == .offer { media[call, default: Media()].offer = sdp }
        media[call, default: Media()].hasRemote = true
        connectIfReady(call)
    }

    func addRemoteCandidate(_ call: CallUUID, _ candidate: String?) {
        note("candidate \(candidate ?? "null")")
        media[call, default: Media()].hasCandidate = true
        connectIfReady(call)
    }

    func rollback(_ call: CallUUID) { note("rollback") }
    func setAudio(_ call: CallUUID, isOn: Bool) { note(isOn ? "audio-on" : "audio-off") }
    func setHeld(_ call: CallUUID, _ isHeld: Bool) { note(isHeld ? "hold" : "resume") }
    func setMuted(_ call: CallUUID, audio: Bool?, video: Bool?) { note("mute") }
    func close(_ call: CallUUID) {
        media[call] = nil
        note("close")
    }

    private func made(_ kind: CallClient.DescriptionKind, _ call: CallUUID, _ round: UInt32, _ lines: [String]) {
        let sdp = lines.map { $0 + "\r\n" }.joined()
        // In a later turn, as a real engine does it: its work takes time.
        DispatchQueue.main.async {
            MainActor.assumeIsolated { [self] in
                events?(.description(call, round: round, kind, sdp: sdp))
                let address = "candidate:1 1 udp 2122260223 192.0.2.1 50001 typ host"
                events?(.candidate(call, round: round, #"{"candidate":"\#(address)","sdpMid":"0","sdpMLineIndex":0}"#))
                media[call, default: Media()].hasLocal = true
                connectIfReady(call)
            }
        }
    }

    private func connectIfReady(_ call: CallUUID) {
        guard let known = media[call], known.hasLocal, known.hasRemote, known.hasCandidate, !known.isConnected else {
            return
        }
        media[call]?.isConnected = true
        DispatchQueue.main.async { MainActor.assumeIsolated { self.events?(.connected(call)) } }
    }

    private static let keys = [
        "a=ice-ufrag:EsAw", "a=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y", "a=ice-options:trickle",
        "a=fingerprint:sha-256 8F:F5:2C:91:ED:7D:50:94:40:AA:7F:BF:04:AD:60:AD:"
            + "55:4E:4A:01:F1:01:E5:22:29:16:E7:0F:9F:68:FB:45",
    ]

    private static func section(_ line: String, _ mid: String, _ setup: String, _ codecs: [String]) -> [String] {
        [line, "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0"] + keys + ["a=setup:\(setup)", "a=mid:\(mid)"]
            + ["a=sendrecv", "a=rtcp-mux"] + codecs
    }
}
