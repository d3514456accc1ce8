import CallCore

/// The parts of a description that the server reads.
struct SDPTarget: FuzzTarget {
    func take(_ bytes: [UInt8]) {
        let isVideo = SDP.offersVideo(bytes)
        expect(SDP.digest(bytes) > 0, "a digest is never 0")
        // Another line must not change the result. A final CR is dropped first, because it is only half of a line
        // ending.
        let lines = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes[...]
        expect(SDP.offersVideo(lines + Array("\r\na=rtcp-mux\r\n".utf8)) == isVideo, "an attribute is no video")
        _ = SDP.isPlausible(bytes)
    }
}
