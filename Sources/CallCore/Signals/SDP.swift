/// The few parts of a session description that a signaling server reads (RFC 8866).
public enum SDP {
    /// Returns whether the text begins as a description must: with the line `v=0`.
    public static func isPlausible(_ text: [UInt8]) -> Bool {
        guard text.count >= 3, text[0] == UInt8(ascii: "v"), text[1] == UInt8(ascii: "="), text[2] == UInt8(ascii: "0")
        else { return false }
        return text.count == 3 || text[3] == 0x0D || text[3] == 0x0A
    }

    /// Returns whether a description offers video: an `m=video` section whose port is not 0 (RFC 3264, section 6) and
    /// that is not inactive.
    ///
    /// An app in production showed voice calls as video calls because their description contained `m=video 0`.
    public static func offersVideo(_ text: [UInt8]) -> Bool {
        var sessionInactive = false
        var section = Section.session
        var found = false
        forEachLine(of: text) { line in
            if line.starts(with: mediaPrefix) {
                if section == .video(inactive: false) { found = true }
                if line.starts(with: videoPrefix) {
                    let port = line.dropFirst(videoPrefix.count).prefix { $0 != 0x20 && $0 != 0x2F }
                    let isZero = port.allSatisfy { $0 == UInt8(ascii: "0") }
                    section = isZero ? .other : .video(inactive: sessionInactive)
                } else {
                    section = .other
                }
            } else if line.elementsEqual(inactiveLine) {
                switch section {
                case .session: sessionInactive = true
                case .video: section = .video(inactive: true)
                case .other: break
                }
            } else if activeLines.contains(where: { line.elementsEqual($0) }), section == .video(inactive: true) {
                section = .video(inactive: false)
            }
        }
        return found || section == .video(inactive: false)
    }

    /// Returns a digest that distinguishes one description from another (FNV-1a over the bytes).
    ///
    /// The digest has 63 bits and is never 0.
    public static func digest(_ text: [UInt8]) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        // The store keeps 63 bits, and 0 means that there is no description.
        hash &= 0x7fff_ffff_ffff_ffff
        return hash == 0 ? 1 : hash
    }

    private enum Section: Equatable { case session, video(inactive: Bool), other }

    private static let mediaPrefix = Array("m=".utf8)
    private static let videoPrefix = Array("m=video ".utf8)
    private static let inactiveLine = Array("a=inactive".utf8)
    private static let activeLines = ["a=sendrecv", "a=sendonly", "a=recvonly"].map { Array($0.utf8) }

    private static func forEachLine(of text: [UInt8], _ body: (ArraySlice<UInt8>) -> Void) {
        var start = 0
        while start < text.count {
            var end = start
            while end < text.count, text[end] != 0x0A { end += 1 }
            let hasReturn = end > start && text[end - 1] == 0x0D
            body(text[start..<(hasReturn ? end - 1 : end)])
            start = end + 1
        }
    }
}
