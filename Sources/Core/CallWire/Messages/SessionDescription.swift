import CallCore
import JSON

/// The parts of a session description that a server reads.
struct SessionDescription: Equatable {
    /// The size of the decoded description in bytes.
    let byteCount: Int
    /// The digest that distinguishes it from other descriptions.
    let digest: UInt64
    /// Whether it begins as a description must.
    let isPlausible: Bool
    /// Whether it offers video (see `SDP.offersVideo`).
    let offersVideo: Bool

    /// Reads a decoded description.
    init(_ text: [UInt8]) {
        byteCount = text.count
        digest = SDP.digest(text)
        isPlausible = SDP.isPlausible(text)
        offersVideo = SDP.offersVideo(text)
    }

    /// Reads a description as it is written in a JSON string, in one pass and without a decoded copy; `nil` if an
    /// escape has hex digits, which no client writes in a description.
    ///
    /// Relevant lines contain no other escapes, so raw text is compared. Escapes at the end of a line, and `\/` behind
    /// a port, are the exceptions.
    ///
    /// - Parameter written: the string without its quotes; its grammar has been checked.
    init?(written: Span<UInt8>) {
        var digest = SDP.Digest()
        var search = SDP.VideoSearch()
        var escapes = 0
        var rest = written
        isPlausible =
            TextWord(rest).prefix(3) == 0x30_3D76  // v=0
            && (rest.count == 3 || Self.isEscape(rest.extracting(droppingFirst: 3), UInt8(ascii: "r"))
                || Self.isEscape(rest.extracting(droppingFirst: 3), UInt8(ascii: "n")))
        Self.visitLine(rest, &search)
        while true {
            let word = TextWord(rest)
            let backslashes = word.backslashes
            if backslashes == 0 {
                guard rest.count > 8 else {
                    for index in 0..<rest.count { digest.append(word[index]) }
                    break
                }
                for index in 0..<8 { digest.append(word[index]) }
                rest = rest.extracting(droppingFirst: 8)
                continue
            }
            let index = TextWord.index(ofLowest: backslashes)
            for before in 0..<index { digest.append(word[before]) }
            rest = rest.extracting(droppingFirst: index)
            if TextWord(rest).prefix(4) == 0x6E5C_725C {  // \r\n, as nearly every line ends
                digest.append(0x0D)
                digest.append(0x0A)
                escapes &+= 2
                rest = rest.extracting(droppingFirst: 4)
                Self.visitLine(rest, &search)
                continue
            }
            guard let byte = Self.unescaped(rest[1]) else { return nil }
            digest.append(byte)
            escapes &+= 1
            rest = rest.extracting(droppingFirst: 2)
            if byte == 0x0A { Self.visitLine(rest, &search) }
        }
        byteCount = written.count - escapes
        self.digest = digest.value
        offersVideo = search.offersVideo
    }

    /// Returns the byte for which an escape stands; `nil` for `\u`.
    private static func unescaped(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "u"): nil
        default: letter
        }
    }

    /// Tells the search of the line with which a text begins, if the line matters.
    @inline(__always)
    private static func visitLine(_ line: Span<UInt8>, _ search: inout SDP.VideoSearch) {
        let word = TextWord(line)
        // Most lines are attributes. Of these, only the directions begin with `a=i`, `a=s` and `a=r`, and few others.
        if word.bits & 0xFFFF == 0x3D6D {  // m=
            beginMedia(line, &search)
        } else if word.bits & 0xFFFF == 0x3D61 {  // a=
            setDirection(line, word.bits, &search)
        }
    }

    private static func beginMedia(_ line: Span<UInt8>, _ search: inout SDP.VideoSearch) {
        let isVideo = TextWord(line).bits == 0x206F_6564_6976_3D6D  // m=video and a space
        search.beginMedia(isVideo: isVideo && !isZero(port: line.extracting(droppingFirst: 8)))
    }

    @inline(__always)
    private static func setDirection(_ line: Span<UInt8>, _ word: UInt64, _ search: inout SDP.VideoSearch) {
        let ending: UInt64
        switch word {
        case 0x6974_6361_6E69_3D61: ending = 0x6576  // a=inacti, ve
        case 0x6572_646E_6573_3D61: ending = 0x7663  // a=sendre, cv
        case 0x6E6F_646E_6573_3D61, 0x6E6F_7663_6572_3D61: ending = 0x796C  // a=sendon and a=recvon, ly
        default: return
        }
        let rest = line.extracting(droppingFirst: 8)
        guard TextWord(rest).prefix(2) == ending, isEnd(ofLine: rest.extracting(droppingFirst: 2)) else { return }
        search.setDirection(isActive: ending != 0x6576)
    }

    /// Returns whether a port is written with zeros only; an empty one is too.
    private static func isZero(port: Span<UInt8>) -> Bool {
        var rest = port
        while !rest.isEmpty {
            switch rest[0] {
            case UInt8(ascii: "0"): rest = rest.extracting(droppingFirst: 1)
            case UInt8(ascii: " "), UInt8(ascii: "/"): return true
            case UInt8(ascii: "\\"): return isEscape(rest, UInt8(ascii: "/")) || isEnd(ofLine: rest)
            default: return false
            }
        }
        return true
    }

    /// Returns whether a line ends here: with a line feed or the text, before which one carriage return may stand.
    private static func isEnd(ofLine rest: Span<UInt8>) -> Bool {
        let hasReturn = isEscape(rest, UInt8(ascii: "r"))
        let end = hasReturn ? rest.extracting(droppingFirst: 2) : rest
        return end.isEmpty || isEscape(end, UInt8(ascii: "n"))
    }

    private static func isEscape(_ text: Span<UInt8>, _ letter: UInt8) -> Bool {
        text.count > 1 && text[0] == UInt8(ascii: "\\") && text[1] == letter
    }
}
