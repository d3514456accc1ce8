/// Decodes a body that comes in chunks (RFC 9112, section 7.1).
struct ChunkedBody {
    /// A fault of the peer, after which nothing more is read.
    enum Fault: Error {
        /// The bytes are no chunks, or what is not content is too long.
        case malformed
        /// The content is longer than its limit.
        case large
    }

    private enum State: UInt8 {
        case size, digits, extensions, sizeEnd, content, contentEnd, lineFeed, trailer, trailerText, trailerEnd, lastEnd
        case complete
    }

    /// The most bytes of a chunk's first line.
    private static let longestLine = 256
    /// The most bytes of all extensions and trailers.
    private static let mostExtras = 4_096

    private struct Position {
        var state = State.size
        var size = 0
        var lineBytes = 0
        var extras = 0
    }

    private var at = Position()
    /// The content so far.
    private(set) var content: [UInt8] = []

    /// Whether the last chunk and its end have come; later bytes are ignored.
    var isComplete: Bool { at.state == .complete }

    /// Decodes further bytes; the content may grow up to the limit.
    ///
    /// After the fault ``Fault/large``, the same bytes may be decoded again with a higher limit.
    mutating func decode(_ bytes: UnsafeRawBufferPointer, limit: Int) throws(Fault) {
        var index = 0
        let before = (at, content.count)
        while index < bytes.count, at.state != .complete {
            if at.state == .content {
                let count = min(at.size, bytes.count - index)
                content.append(contentsOf: bytes[index..<index + count])
                at.size -= count
                index += count
                if at.size == 0 { at.state = .contentEnd }
                continue
            }
            do { try read(bytes[index], limit: limit) } catch {
                if error == .large {
                    at = before.0
                    content.removeLast(content.count - before.1)
                }
                throw error
            }
            index += 1
        }
    }

    private mutating func read(_ byte: UInt8, limit: Int) throws(Fault) {
        switch at.state {
        case .size, .digits, .extensions: try readLine(byte)
        case .sizeEnd:
            try expect(UInt8(ascii: "\n"), byte)
            guard at.size <= limit - content.count else { throw .large }
            at.state = at.size == 0 ? .trailer : .content
        case .contentEnd:
            try expect(UInt8(ascii: "\r"), byte)
            at.state = .lineFeed
        case .lineFeed:
            try expect(UInt8(ascii: "\n"), byte)
            at.lineBytes = 0
            at.state = .size
        case .trailer where byte == UInt8(ascii: "\r"): at.state = .lastEnd
        case .trailer, .trailerText:
            try countExtra()
            at.state = byte == UInt8(ascii: "\r") ? .trailerEnd : .trailerText
            guard byte != UInt8(ascii: "\n") else { throw .malformed }
        case .trailerEnd:
            try expect(UInt8(ascii: "\n"), byte)
            at.state = .trailer
        case .lastEnd:
            try expect(UInt8(ascii: "\n"), byte)
            at.state = .complete
        case .content, .complete: break
        }
    }

    private mutating func readLine(_ byte: UInt8) throws(Fault) {
        at.lineBytes += 1
        guard at.lineBytes <= Self.longestLine else { throw .malformed }
        switch (at.state, byte) {
        case (.size, _), (.digits, 48...57), (.digits, 65...70), (.digits, 97...102):
            guard let digit = Self.digit(byte), at.size < 1 << 40 else { throw .malformed }
            at.size = (at.state == .size ? 0 : at.size) << 4 | digit
            at.state = .digits
        case (_, UInt8(ascii: "\r")): at.state = .sizeEnd
        case (_, UInt8(ascii: "\n")): throw .malformed
        case (.digits, UInt8(ascii: ";")), (.digits, UInt8(ascii: " ")), (.digits, UInt8(ascii: "\t")),
            (.extensions, _):
            try countExtra()
            at.state = .extensions
        default: throw .malformed
        }
    }

    private mutating func countExtra() throws(Fault) {
        at.extras += 1
        guard at.extras <= Self.mostExtras else { throw .malformed }
    }

    private func expect(_ expected: UInt8, _ byte: UInt8) throws(Fault) {
        guard byte == expected else { throw .malformed }
    }

    private static func digit(_ byte: UInt8) -> Int? {
        switch byte {
        case 48...57: Int(byte) - 48
        case 65...70: Int(byte) - 55
        case 97...102: Int(byte) - 87
        default: nil
        }
    }
}
