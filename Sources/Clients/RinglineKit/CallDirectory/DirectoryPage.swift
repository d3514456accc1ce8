public import Foundation

/// A page of one list of the user's call directory, as the server sends it: text lines, checked as a whole.
///
/// iOS refuses all entries of a request if one of them is out of order or comes twice. So a page exists only if every
/// line of it has the right form and the numbers ascend. The page keeps its bytes and nothing else: each line is read
/// from them when it is asked for, and the list is never in memory.
///
/// The first line is `CURSOR<TAB>complete|changes<TAB>end|more<TAB>NUMBER`. Then come `+DIGITS<TAB>label` for an
/// identity, `+DIGITS` for a blocked number, and `-DIGITS` for a number that was removed.
public struct DirectoryPage: Sequence, Sendable {
    /// The list that the page belongs to.
    public let list: DirectoryList
    /// The cursor after the page: the next page, or the next changes, are those since this cursor.
    public let cursor: DirectoryCursor
    /// Whether the pages are the whole list (`true`), or what changed since a cursor.
    public let isComplete: Bool
    /// Whether a further page follows.
    public let hasMore: Bool
    /// The number of the page, from 1.
    public let number: Int
    /// The number of entries and removals on the page.
    public let lineCount: Int
    /// The smallest number on the page; `nil` = the page has no lines.
    public let firstNumber: Int64?
    /// The largest number on the page; `nil` = the page has no lines.
    public let lastNumber: Int64?

    private let lines: DirectoryLines

    /// Reads a page, and checks all of it.
    ///
    /// - Parameters:
    ///   - bytes: the body of the server's response. The page shares its memory, and copies nothing.
    ///   - list: the list that was asked for.
    /// - Throws: a ``DirectoryPageError`` that names the first line that does not have the form.
    public init(_ bytes: Data, of list: DirectoryList) throws(DirectoryPageError) {
        let head = try DirectoryHead(bytes)
        self.list = list
        cursor = head.cursor
        isComplete = head.isComplete
        hasMore = head.hasMore
        number = head.number
        lines = DirectoryLines(bytes, from: head.end, of: list, isComplete: head.isComplete)
        var checked = lines
        var count = 0
        var first: Int64?
        while let line = try checked.next() {
            first = first ?? line.number
            count += 1
        }
        lineCount = count
        firstNumber = first
        lastNumber = first == nil ? nil : checked.last
    }

    /// Returns the lines of the page, in ascending order of their numbers.
    public func makeIterator() -> Iterator { Iterator(lines: lines) }

    /// The lines of a page, each read when it is asked for.
    public struct Iterator: IteratorProtocol {
        var lines: DirectoryLines

        /// Returns the next line; `nil` = there is none.
        public mutating func next() -> DirectoryLine? {
            // All lines were read once without an error, when the page was created.
            (try? lines.next()) ?? nil
        }
    }
}

/// A list of a user's call directory.
public enum DirectoryList: String, CaseIterable, Codable, Sendable {
    /// The numbers whose calls iOS does not show.
    case blocks
    /// The numbers for which iOS shows a label when they call.
    case identities
}

/// A line of a page: a number as Apple's `CXCallDirectoryPhoneNumber`, with its country code first.
public enum DirectoryLine: Equatable, Sendable {
    /// The number has this label, whether or not it had another one before.
    case identity(Int64, label: String)
    /// The number is blocked.
    case block(Int64)
    /// The number is no longer in the list.
    case removal(Int64)

    /// The number.
    public var number: Int64 {
        switch self {
        case .identity(let number, _), .block(let number), .removal(let number): number
        }
    }
}

/// Why a page was not accepted: a line that does not have the form.
public struct DirectoryPageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The rule that a line breaks.
    public enum Rule: String, Error, Sendable {
        /// The first line has four words: a cursor, `complete` or `changes`, `end` or `more`, and a number from 1.
        case firstLine
        /// A line begins with `+`, or in changes with `-`; there is no removal in a complete list.
        case operation
        /// A number has 1 to 18 digits, and no zero at its beginning.
        case number
        /// A label has 1 to 64 characters, at most 256 bytes of UTF-8, and no control characters; a blocked number and
        /// a removal have none.
        case label
        /// Each number is larger than the one before it.
        case order
        /// Each line ends with a line feed: otherwise the page may have been cut off.
        case lineEnd
    }

    /// The number of the line, from 1.
    public var line: Int
    /// The rule.
    public var rule: Rule

    /// Creates an error from its parts.
    public init(line: Int, _ rule: Rule) {
        self.line = line
        self.rule = rule
    }

    /// The error in words, for logs; it contains neither a number nor a label.
    public var description: String { "line \(line): \(rule.rawValue)" }
}
