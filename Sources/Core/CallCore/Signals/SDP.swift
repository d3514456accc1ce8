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
        var search = VideoSearch()
        forEachLine(of: text) { line in
            if line.starts(with: videoPrefix) {
                let port = line.dropFirst(videoPrefix.count).prefix { $0 != 0x20 && $0 != 0x2F }
                search.beginMedia(isVideo: !port.allSatisfy { $0 == UInt8(ascii: "0") })
            } else if line.starts(with: mediaPrefix) {
                search.beginMedia(isVideo: false)
            } else if line.elementsEqual(inactiveLine) {
                search.setDirection(isActive: false)
            } else if activeLines.contains(where: { line.elementsEqual($0) }) {
                search.setDirection(isActive: true)
            }
        }
        return search.offersVideo
    }

    /// The search for an offer of video, which is told of the lines that matter in their order.
    public struct VideoSearch: Sendable {
        private enum Section: Equatable { case session, video(inactive: Bool), other }

        private var sessionInactive = false
        private var section = Section.session
        private var found = false

        /// Begins at the first line of a description.
        public init() {}

        /// Handles an `m=` line; `isVideo` means that it begins with `m=video` and that its port is not 0.
        public mutating func beginMedia(isVideo: Bool) {
            if section == .video(inactive: false) { found = true }
            section = isVideo ? .video(inactive: sessionInactive) : .other
        }

        /// Handles a line that is one of the four directions, of which only `a=inactive` is not active.
        public mutating func setDirection(isActive: Bool) {
            switch section {
            case .session: if !isActive { sessionInactive = true }
            case .video: section = .video(inactive: !isActive)
            case .other: break
            }
        }

        /// Whether the lines so far offer video.
        public var offersVideo: Bool { found || section == .video(inactive: false) }
    }

    /// Returns a digest that distinguishes one description from another.
    public static func digest(_ text: [UInt8]) -> UInt64 {
        var digest = Digest()
        for byte in text { digest.append(byte) }
        return digest.value
    }

    /// The digest of a description whose bytes come one by one (FNV-1a).
    @frozen
    public struct Digest: Sendable {
        @usableFromInline var hash: UInt64 = 0xcbf2_9ce4_8422_2325

        /// Begins with the empty text.
        @inlinable
        public init() {}

        /// Adds a byte.
        @inlinable
        @inline(__always)
        public mutating func append(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }

        /// The digest, which has 63 bits and is never 0.
        @inlinable public var value: UInt64 {
            // The store keeps 63 bits, and 0 means that there is no description.
            let kept = hash & 0x7fff_ffff_ffff_ffff
            return kept == 0 ? 1 : kept
        }
    }

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
