import Foundation

/// The first line of a page.
struct DirectoryHead {
    /// The largest number of bytes: a cursor of 80, the words and a page number of 10 digits.
    private static let maximumBytes = 112

    let cursor: DirectoryCursor
    let isComplete: Bool
    let hasMore: Bool
    let number: Int
    /// The index of the byte after the line.
    let end: Int

    init(_ bytes: Data) throws(DirectoryPageError) {
        let error = DirectoryPageError(line: 1, .firstLine)
        guard let feed = bytes.prefix(Self.maximumBytes).firstIndex(of: .lineFeed) else {
            // A connection that broke early is another matter than a server that says something else.
            throw bytes.count < Self.maximumBytes ? DirectoryPageError(line: 1, .lineEnd) : error
        }
        let words = bytes[bytes.startIndex..<feed].split(separator: .tab, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 4, let cursor = DirectoryCursor(words[0]), let number = Self.number(words[3]) else {
            throw error
        }
        switch words[1] {
        case "complete": isComplete = true
        case "changes": isComplete = false
        default: throw error
        }
        switch words[2] {
        case "end": hasMore = false
        case "more": hasMore = true
        default: throw error
        }
        self.cursor = cursor
        self.number = number
        end = feed + 1
    }

    /// Returns the number of a page; `nil` = the text is none.
    ///
    /// `Int` alone would accept a sign and zeros at the beginning.
    private static func number(_ text: String) -> Int? {
        guard let number = Int(text), number > 0, String(number) == text else { return nil }
        return number
    }
}

/// Reads the lines of a page below the first one, from their bytes.
struct DirectoryLines: Sendable {
    private let bytes: Data
    private let list: DirectoryList
    private let isComplete: Bool
    /// The place of the next line, counted from the first byte of the page.
    private var place: Int
    /// The number of the next line.
    private var line = 2
    /// The number that was read last; 0 = none.
    private(set) var last: Int64 = 0

    init(_ bytes: Data, from index: Int, of list: DirectoryList, isComplete: Bool) {
        self.bytes = bytes
        self.list = list
        self.isComplete = isComplete
        place = index - bytes.startIndex
    }

    /// Reads the next line; `nil` = there is none.
    mutating func next() throws(DirectoryPageError) -> DirectoryLine? {
        guard place < bytes.count else { return nil }
        // `Data` checks and counts at each single byte, which would cost several seconds for a million lines.
        let result = bytes.withUnsafeBytes { bytes in
            var scanner = LineScanner(bytes: bytes, place: place, list: list, isComplete: isComplete)
            return Result { () throws(DirectoryPageError.Rule) in (try scanner.read(after: last), scanner.place) }
        }
        switch result {
        case .success((let read, let end)):
            place = end
            line += 1
            last = read.number
            return read
        case .failure(let rule): throw DirectoryPageError(line: line, rule)
        }
    }
}

/// Reads one line.
private struct LineScanner {
    private static let maximumDigits = 18
    private static let maximumLabelBytes = 256
    private static let maximumLabelCharacters = 64

    let bytes: UnsafeRawBufferPointer
    var place: Int
    let list: DirectoryList
    let isComplete: Bool

    mutating func read(after last: Int64) throws(DirectoryPageError.Rule) -> DirectoryLine {
        let isRemoval: Bool
        switch bytes[place] {
        case UInt8(ascii: "+"): isRemoval = false
        case UInt8(ascii: "-") where !isComplete: isRemoval = true
        default: throw .operation
        }
        place += 1
        let number = try readNumber()
        guard number > last else { throw .order }
        let read: DirectoryLine
        if isRemoval {
            read = .removal(number)
        } else if list == .blocks {
            read = .block(number)
        } else {
            read = .identity(number, label: try readLabel())
        }
        guard place < bytes.count else { throw .lineEnd }
        guard bytes[place] == .lineFeed else { throw .label }
        place += 1
        return read
    }

    private mutating func readNumber() throws(DirectoryPageError.Rule) -> Int64 {
        var number: Int64 = 0
        var digits = 0
        while place < bytes.count, case let digit = bytes[place] &- UInt8(ascii: "0"), digit < 10 {
            digits += 1
            guard digits <= Self.maximumDigits, digits > 1 || digit > 0 else { throw .number }
            number = number * 10 + Int64(digit)
            place += 1
        }
        guard place < bytes.count else { throw .lineEnd }
        guard digits > 0, bytes[place] == .tab || bytes[place] == .lineFeed else { throw .number }
        return number
    }

    private mutating func readLabel() throws(DirectoryPageError.Rule) -> String {
        guard bytes[place] == .tab else { throw .label }
        let start = place + 1
        place = start
        while place < bytes.count, bytes[place] != .lineFeed {
            guard place - start < Self.maximumLabelBytes, !isControl else { throw .label }
            place += 1
        }
        guard place < bytes.count else { throw .lineEnd }
        let text = UnsafeRawBufferPointer(rebasing: bytes[start..<place])
        let label = String(decoding: text, as: UTF8.self)
        // Decoding replaces what is not UTF-8, and then the bytes are other ones.
        guard !text.isEmpty, label.utf8.elementsEqual(text),
            text.count <= Self.maximumLabelCharacters || label.count <= Self.maximumLabelCharacters
        else { throw .label }
        return label
    }

    /// Whether a control character begins here: a byte below the blank, or 7F, or U+0080 to U+009F as UTF-8.
    private var isControl: Bool {
        switch bytes[place] {
        case 0..<0x20, 0x7f: true
        case 0xc2: place + 1 < bytes.count && (0x80..<0xa0).contains(bytes[place + 1])
        default: false
        }
    }
}

extension UInt8 {
    fileprivate static let tab = UInt8(ascii: "\t")
    fileprivate static let lineFeed = UInt8(ascii: "\n")
}
