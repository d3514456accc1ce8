/// Why bytes are not the TZif file of a time zone.
package enum TZifError: Error, Hashable, Sendable {
    /// The file is larger than ``TimeZoneRules/maximumByteCount``.
    case tooLarge
    /// The file ends before its header says so.
    case truncated
    /// The file, or its second header, does not begin with `TZif`.
    case noMagic
    /// The version is neither a NUL nor a digit from `2`.
    case unknownVersion
    /// The header's counts contradict each other, or there is no local time type.
    case badCount
    /// A local time type is more than about a day from UTC, or has no name in the file.
    case badType
    /// The transitions do not ascend, are before the Big Bang, or lead to a type that the file does not have.
    case badTransition
    /// The file counts leap seconds, as those in the folder `right` do; a `Moment` does not count them.
    case leapSeconds
    /// The footer is not a TZ string between two newlines.
    case badFooter
}

/// Reads a TZif file: RFC 9636, section 3.
///
/// Every read checks the rest's length first, and the counts are summed in 64 bits, so no input traps.
struct TZifReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The contents of a file, as far as they concern offsets.
    struct Contents: Equatable, Sendable {
        /// The offset before the first transition, in seconds east of UTC.
        var firstOffset: Int32 = 0
        /// The seconds since 1970 at which the offset, or the time's name, changes; ascending.
        var transitions: [Int64] = []
        /// The offset from each transition on.
        var offsets: [Int32] = []
        /// `nil` if the footer says nothing, or if the file is of version 1 and thus has no footer.
        var footer: FooterRule?
    }

    /// The offsets that are accepted, in seconds east of UTC: more than -25 hours and less than 26 hours (RFC 9636,
    /// section 3.2).
    static let offsets: ClosedRange<Int32> = -89_999...93_599

    /// The earliest transition that is accepted, in seconds since 1970.
    ///
    /// Earlier ones precede the Big Bang (RFC 9636, section 3.2). The limit and its opposite also keep sums with an
    /// offset from overflowing.
    private static let earliest: Int64 = -1 << 59

    mutating func read() throws(TZifError) -> Contents {
        let header = try header()
        guard header.version >= UInt8(ascii: "2") else {
            return try block(header, timeSize: 4)
        }
        // The first block is for readers of version 1 only. It may be empty, even of types, so only its size counts.
        try skip(header.size(timeSize: 4))
        var contents = try block(self.header(), timeSize: 8)
        contents.footer = try footer()
        return contents
    }

    private struct Header {
        let version: UInt8
        let isUTCount: Int
        let isStandardCount: Int
        let leapCount: Int
        let timeCount: Int
        let typeCount: Int
        let nameBytes: Int

        /// Returns the size of the block after the header in bytes, where a time has this size.
        func size(timeSize: Int) -> Int {
            timeCount * (timeSize + 1) + typeCount * 6 + nameBytes + leapCount * (timeSize + 4) + isStandardCount
                + isUTCount
        }
    }

    private mutating func header() throws(TZifError) -> Header {
        guard bytes[place...].starts(with: "TZif".utf8) else { throw .noMagic }
        guard bytes.count - place >= 44 else { throw .truncated }
        let version = bytes[place + 4]
        guard version == 0 || (UInt8(ascii: "2")...UInt8(ascii: "9")).contains(version) else { throw .unknownVersion }
        let counts = (0..<6).map { Int(UInt32(truncatingIfNeeded: number(at: place + 20 + $0 * 4, size: 4))) }
        place += 44
        return Header(
            version: version,
            isUTCount: counts[0],
            isStandardCount: counts[1],
            leapCount: counts[2],
            timeCount: counts[3],
            typeCount: counts[4],
            nameBytes: counts[5]
        )
    }

    private mutating func block(_ header: Header, timeSize: Int) throws(TZifError) -> Contents {
        guard header.typeCount > 0, header.nameBytes > 0, [0, header.typeCount].contains(header.isUTCount),
            [0, header.typeCount].contains(header.isStandardCount)
        else { throw .badCount }
        guard header.leapCount == 0 else { throw .leapSeconds }
        let times = place
        let indices = times + header.timeCount * timeSize
        let types = indices + header.timeCount
        try skip(header.size(timeSize: timeSize))
        var typeOffsets: [Int32] = []
        for index in 0..<header.typeCount {
            let type = types + index * 6
            let offset = Int32(truncatingIfNeeded: number(at: type, size: 4))
            guard Self.offsets.contains(offset), bytes[type + 4] <= 1, bytes[type + 5] < header.nameBytes else {
                throw .badType
            }
            typeOffsets.append(offset)
        }
        var contents = Contents(firstOffset: typeOffsets[0])
        for index in 0..<header.timeCount {
            let time = number(at: times + index * timeSize, size: timeSize)
            let type = Int(bytes[indices + index])
            guard type < typeOffsets.count, (Self.earliest ... -Self.earliest).contains(time),
                contents.transitions.last.map({ $0 < time }) ?? true
            else { throw .badTransition }
            contents.transitions.append(time)
            contents.offsets.append(typeOffsets[type])
        }
        return contents
    }

    private mutating func footer() throws(TZifError) -> FooterRule? {
        let newline = UInt8(ascii: "\n")
        guard place < bytes.count else { throw .truncated }
        guard bytes[place] == newline, let end = bytes[(place + 1)...].firstIndex(of: newline) else {
            throw .badFooter
        }
        let text = bytes[(place + 1)..<end]
        guard !text.isEmpty else { return nil }
        guard let rule = FooterRule(text) else { throw .badFooter }
        return rule
    }

    private mutating func skip(_ count: Int) throws(TZifError) {
        guard count <= bytes.count - place else { throw .truncated }
        place += count
    }

    /// Returns the signed big-endian number of this many bytes; the caller has checked that they exist.
    private func number(at place: Int, size: Int) -> Int64 {
        let start: Int64 = bytes[place] >= 0x80 ? -1 : 0
        return bytes[place..<(place + size)].reduce(start) { $0 << 8 | Int64($1) }
    }
}
