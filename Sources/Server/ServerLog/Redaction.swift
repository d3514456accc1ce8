/// Removes from a text that somebody else wrote everything that no log may contain.
enum Redaction {
    /// Texts that occur in a session description (SDP) or in a candidate; a text with one of them is replaced as a
    /// whole.
    private static let descriptions = [
        "v=0", "a=candidate", "candidate:", "m=audio", "m=video", "ice-ufrag", "ice-pwd",
    ].map { Array($0.utf8) }
    /// The length from which a word of hexadecimal digits counts as a secret: a push token has 64.
    private static let hexSecret = 32
    /// The length from which a word of base64url counts as a secret, if it has letters of both cases and digits.
    private static let secret = 40

    static func redact(_ text: String) -> String {
        let bytes = Array(text.utf8.prefix(UntrustedText.limit))
        if descriptions.contains(where: { bytes.contains($0) }) { return "[description]" }
        var result: [UInt8] = []
        for run in runs(of: bytes) {
            if let first = run.first, isWord(first) {
                result += redact(run)
            } else {
                result += run
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Splits a text into words, which consist of the characters of tokens and addresses, and the parts between the
    /// words.
    private static func runs(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var runs: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        for index in bytes.indices.dropFirst() where isWord(bytes[index]) != isWord(bytes[index - 1]) {
            runs.append(bytes[start..<index])
            start = index
        }
        if start < bytes.endIndex { runs.append(bytes[start...]) }
        return runs
    }

    private static func redact(_ word: ArraySlice<UInt8>) -> [UInt8] {
        if Array(word).contains(Array("eyJ".utf8)) { return Array("[token]".utf8) }
        if isAddress(word) { return Array("[address]".utf8) }
        let isSecret = word.split { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }.contains(where: isSecret)
        return isSecret ? Array("[secret]".utf8) : Array(word)
    }

    private static func isSecret(_ part: ArraySlice<UInt8>) -> Bool {
        if part.count >= hexSecret, part.allSatisfy(isHex) { return true }
        return part.count >= secret && part.contains(where: isDigit) && part.contains { (65...90).contains($0) }
            && part.contains { (97...122).contains($0) }
    }

    /// Whether a word contains an IPv4 address, with or without a port, or is an IPv6 address.
    private static func isAddress(_ word: ArraySlice<UInt8>) -> Bool {
        let parts = word.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let hasIPv4 = parts.contains { part in
            let numbers = part.split(separator: UInt8(ascii: "."))
            return numbers.count == 4 && numbers.allSatisfy { $0.count <= 3 && $0.allSatisfy(isDigit) }
        }
        if hasIPv4 { return true }
        guard parts.allSatisfy({ $0.count <= 4 && $0.allSatisfy(isHex) }) else { return false }
        let hasGap = parts.count > 2 && parts.dropFirst().dropLast().contains { $0.isEmpty }
        return hasGap || parts.count == 8
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        isDigit(byte) || (65...90).contains(byte) || (97...122).contains(byte)
            || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "+"), UInt8(ascii: "-")]
                .contains(byte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    private static func isHex(_ byte: UInt8) -> Bool {
        isDigit(byte) || (65...70).contains(byte) || (97...102).contains(byte)
    }
}

extension [UInt8] {
    /// Whether another sequence of bytes occurs in this one.
    fileprivate func contains(_ other: [UInt8]) -> Bool {
        guard count >= other.count else { return false }
        return (0...(count - other.count)).contains { self[$0..<($0 + other.count)].elementsEqual(other) }
    }
}
