import CallCore
import Testing

@Suite("A session description")
struct SDPTests {
    private static func text(_ lines: String..., newline: String = "\r\n") -> [UInt8] {
        Array(lines.map { $0 + newline }.joined().utf8)
    }

    @Test("A description begins with v=0", arguments: ["v=0", "v=0\r\n", "v=0\n", "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"])
    func plausible(_ text: String) { #expect(SDP.isPlausible(Array(text.utf8))) }

    @Test(
        "A text that begins otherwise is not a session description",
        arguments: ["", "v", "v=", "v=1\r\n", "v=01", " v=0", "o=-", "V=0", "v=0 "]
    )
    func implausible(_ text: String) { #expect(!SDP.isPlausible(Array(text.utf8))) }

    @Test(
        "A video section offers video if its port is not 0, whatever the line endings",
        arguments: [
            ("\r\n", "m=video 9 UDP/TLS/RTP/SAVPF 96", true), ("\n", "m=video 9 UDP/TLS/RTP/SAVPF 96", true),
            ("\r\n", "m=video 0 UDP/TLS/RTP/SAVPF 96", false), ("\n", "m=video 0 UDP/TLS/RTP/SAVPF 96", false),
            ("\r\n", "m=video 49170/2 RTP/AVP 31", true), ("\r\n", "m=video 0/2 RTP/AVP 31", false),
            ("\r\n", "m=video 00 RTP/AVP 31", false), ("\r\n", "m=video 10 RTP/AVP 31", true),
            ("\r\n", "m=audio 9 RTP/AVP 0", false), ("\r\n", "m=videos 9 RTP/AVP 0", false),
            ("\r\n", "a=m=video 9 RTP/AVP 0", false), ("\r\n", "m=application 9 m=video 9", false),
        ]
    )
    func ports(_ newline: String, _ line: String, _ expected: Bool) {
        let text = Self.text("v=0", "s=-", "m=audio 9 RTP/AVP 0", line, "a=rtcp-mux", newline: newline)
        #expect(SDP.offersVideo(text) == expected)
    }

    @Test("A video section without a newline at the end offers video")
    func noLastNewline() { #expect(SDP.offersVideo(Array("v=0\r\nm=video 9 RTP/AVP 31".utf8))) }

    @Test("An inactive section offers no video")
    func inactiveSection() {
        #expect(!SDP.offersVideo(Self.text("v=0", "m=video 9 RTP/AVP 31", "a=inactive")))
        #expect(SDP.offersVideo(Self.text("v=0", "m=audio 9 RTP/AVP 0", "a=inactive", "m=video 9 RTP/AVP 31")))
        #expect(SDP.offersVideo(Self.text("v=0", "m=video 9 RTP/AVP 31", "m=audio 9 RTP/AVP 0", "a=inactive")))
        #expect(SDP.offersVideo(Self.text("v=0", "m=video 9 RTP/AVP 31", "a=inactive-not")))
    }

    @Test("In a description that is inactive as a whole, only a section with its own direction offers video")
    func inactiveSession() {
        #expect(!SDP.offersVideo(Self.text("v=0", "a=inactive", "m=video 9 RTP/AVP 31")))
        for direction in ["a=sendrecv", "a=sendonly", "a=recvonly"] {
            #expect(SDP.offersVideo(Self.text("v=0", "a=inactive", "m=video 9 RTP/AVP 31", direction)))
            #expect(!SDP.offersVideo(Self.text("v=0", "a=inactive", "m=audio 9 RTP/AVP 0", direction)))
        }
    }

    @Test("One section that offers video is enough")
    func severalSections() {
        #expect(SDP.offersVideo(Self.text("v=0", "m=video 0 RTP/AVP 31", "m=video 9 RTP/AVP 31")))
        #expect(SDP.offersVideo(Self.text("v=0", "m=video 9 RTP/AVP 31", "m=video 0 RTP/AVP 31")))
        #expect(
            SDP.offersVideo(Self.text("v=0", "m=video 9 RTP/AVP 31", "m=video 9 RTP/AVP 31", "a=inactive"))
        )
        #expect(
            !SDP.offersVideo(Self.text("v=0", "m=video 0 RTP/AVP 31", "m=video 9 RTP/AVP 31", "a=inactive"))
        )
    }

    @Test("A digest is never 0, fits in 63 bits and changes with every byte")
    func digest() {
        let text = Array("v=0\r\ns=-\r\n".utf8)
        let digest = SDP.digest(text)
        #expect(digest != 0)
        #expect(digest >> 63 == 0)
        #expect(SDP.digest(text) == digest)
        for index in text.indices {
            var other = text
            other[index] ^= 1
            #expect(SDP.digest(other) != digest)
        }
        #expect(SDP.digest([]) != 0)
    }
}
