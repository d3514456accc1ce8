import CallCore

/// What the server reads of a description.
struct SDPTarget: FuzzTarget {
    func take(_ bytes: [UInt8]) {
        let isVideo = SDP.offersVideo(bytes)
        expect(SDP.digest(bytes) > 0, "a digest is never 0")
        // A line that says nothing changes nothing, where the last line's end is a whole one.
        let lines = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes[...]
        expect(SDP.offersVideo(lines + Array("\r\na=rtcp-mux\r\n".utf8)) == isVideo, "an attribute is no video")
        _ = SDP.isPlausible(bytes)
    }
}
