package import CallCore

/// A client's place in the reading of a list.
///
/// A client reads a list page by page: first the whole list, later what has changed since. The cursor of a page says
/// where the next page begins, and the cursor of the last page says from which version the next changes count. The
/// server stores no cursor.
package struct NumberCursor: Equatable, Sendable {
    /// The list.
    package var list: NumberList
    /// The version of the lists when the client began to read: changes up to it have been read after the last page.
    package var version: Int64
    /// The place within the reading; `nil` = the client has read everything up to ``version``.
    package var place: Place?

    /// A place within a reading.
    package struct Place: Equatable, Sendable {
        /// The version since which the reading shows changes; `nil` = it shows the whole list.
        package var since: Int64?
        /// The number of the next page, from 2.
        package var page: Int64
        /// The last number of the page before.
        package var after: PhoneNumber

        /// A place with the given members.
        package init(since: Int64?, page: Int64, after: PhoneNumber) {
            self.since = since
            self.page = page
            self.after = after
        }
    }

    /// A cursor with the given members.
    package init(_ list: NumberList, version: Int64, place: Place? = nil) {
        self.list = list
        self.version = version
        self.place = place
    }

    /// The longest text of a cursor, in bytes.
    package static let maximumBytes = 80

    /// The cursor as text: `i12`, `i12-3-821012345678` or, while changes since version 7 are read,
    /// `i12-3-821012345678-7`.
    package var text: String {
        let start = "\(list == .identities ? "i" : "b")\(version)"
        guard let place else { return start }
        let middle = "\(start)-\(place.page)-\(place.after.text)"
        return place.since.map { "\(middle)-\($0)" } ?? middle
    }

    /// Reads the text of a cursor; `nil` if it is not exactly as ``text`` writes it.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard bytes.count <= Self.maximumBytes, let letter = bytes.first else { return nil }
        switch letter {
        case UInt8(ascii: "i"): list = .identities
        case UInt8(ascii: "b"): list = .blocks
        default: return nil
        }
        let parts = bytes.dropFirst().split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard let version = parts.first.flatMap(Self.number) else { return nil }
        self.version = version
        guard parts.count > 1 else { return }
        guard parts.count <= 4, parts.count >= 3, let page = Self.number(parts[1]), page >= 2,
            let after = PhoneNumber(digits: parts[2])
        else { return nil }
        var since: Int64?
        if parts.count == 4 {
            guard let number = Self.number(parts[3]), number <= version else { return nil }
            since = number
        }
        place = Place(since: since, page: page, after: after)
    }

    /// Returns the number that some digits write in the one way that ``text`` does.
    private static func number(_ digits: Substring.UTF8View.SubSequence) -> Int64? {
        if digits.elementsEqual([UInt8(ascii: "0")]) { return 0 }
        return PhoneNumber(digits: digits)?.rawValue
    }
}

/// A request for a page of a user's list.
package struct NumberRead: Equatable, Sendable {
    /// The user.
    package var user: UserID
    /// The list.
    package var list: NumberList
    /// The client's place; `nil` = the client has read nothing.
    package var cursor: NumberCursor?
    /// The largest number of lines.
    package var limit: Int

    /// A request with the given members.
    package init(user: UserID, list: NumberList, cursor: NumberCursor?, limit: Int) {
        self.user = user
        self.list = list
        self.cursor = cursor
        self.limit = limit
    }

    /// The number of changes above which the whole list is shown instead of the changes.
    package static let mostChanges = 100_000
    /// The most rows of a list that are read for one page: the page ends there, however few lines it has.
    ///
    /// Up to this many changes are found by their versions and sorted. If there are more, the list is read in the order
    /// of its numbers, from the cursor on.
    package static let mostRows = 10_000

    /// The most changes that are counted to choose how the page is read.
    ///
    /// Only the first page must also tell whether there are more than ``mostChanges``.
    package var countedChanges: Int { (cursor?.place == nil ? Self.mostChanges : Self.mostRows) + 1 }

    /// Returns the page that the request asks for.
    ///
    /// A cursor that is older than the stored removals, or newer than the lists (as after the restoration of a backup),
    /// leads to the first page of the whole list. So does one since which too much has changed (`hasTooManyChanges`).
    package func step(in state: NumberState, hasTooManyChanges: Bool = false) -> NumberStep {
        let start = NumberStep(since: nil, version: state.version, page: 1, after: 0)
        guard let cursor, (state.oldest...max(state.oldest, state.version)).contains(cursor.version) else {
            return start
        }
        guard let place = cursor.place else {
            if hasTooManyChanges { return start }
            return NumberStep(since: cursor.version, version: state.version, page: 1, after: 0)
        }
        if let since = place.since, since < state.oldest || hasTooManyChanges { return start }
        return NumberStep(
            since: place.since,
            version: cursor.version,
            page: place.page,
            after: place.after.rawValue
        )
    }
}

/// The page to read next.
package struct NumberStep: Equatable, Sendable {
    /// The version since which the page shows changes; `nil` = it shows the whole list.
    package var since: Int64?
    /// The version from which the next changes count once all pages were read.
    package var version: Int64
    /// The number of the page, from 1.
    package var page: Int64
    /// The number after which the page begins; 0 = at the first.
    package var after: Int64

    /// A page with the given members.
    package init(since: Int64?, version: Int64, page: Int64, after: Int64) {
        self.since = since
        self.version = version
        self.page = page
        self.after = after
    }
}

/// A page of a list.
package struct NumberPage: Equatable, Sendable {
    /// The list.
    package var list: NumberList
    /// The page's place.
    package var step: NumberStep
    /// The version of the lists when the page was read.
    package var version: Int64
    /// The lines as clients receive them (protocol, section 5.10).
    ///
    /// They are bytes and not records, because a page has up to 10,000 lines, and the event loop only passes them on.
    package var lines: [UInt8] = []
    /// The number of lines.
    package var count = 0
    /// The last number that was read, even if it has no line; 0 = none was read.
    package var last: Int64 = 0
    /// The number of rows and index entries that were read for the page.
    package var rowsRead = 0
    /// Whether no page follows.
    package var isLast = true

    /// The largest size of a page in bytes: a page with long names has fewer lines than its client allows.
    package static let mostBytes = 512 * 1_024

    /// An empty page.
    package init(_ list: NumberList, _ step: NumberStep, at version: Int64) {
        self.list = list
        self.step = step
        self.version = version
    }

    /// The cursor for the request that follows.
    package var cursor: NumberCursor {
        guard !isLast, let last = PhoneNumber(rawValue: last) else { return NumberCursor(list, version: step.version) }
        return NumberCursor(
            list,
            version: step.version,
            place: NumberCursor.Place(since: step.since, page: step.page + 1, after: last)
        )
    }

    /// Appends the line of a number; numbers come in ascending order.
    ///
    /// - Parameters:
    ///   - number: The number.
    ///   - label: Its name; `nil` = it has none, as in a list of blocked numbers.
    ///   - isShown: Whether the number is in the list; `false` = it was removed.
    ///   - limit: The largest number of lines.
    /// - Returns: `false` if the page is full, so that the line belongs to the next page.
    package mutating func append(_ number: PhoneNumber, _ label: String?, isShown: Bool, limit: Int) -> Bool {
        guard count < limit, lines.count < Self.mostBytes else {
            isLast = false
            return false
        }
        lines.append(isShown ? UInt8(ascii: "+") : UInt8(ascii: "-"))
        Self.write(number.rawValue, to: &lines)
        if isShown, let label {
            lines.append(UInt8(ascii: "\t"))
            lines.append(contentsOf: label.utf8)
        }
        lines.append(UInt8(ascii: "\n"))
        count += 1
        last = number.rawValue
        return true
    }

    /// Writes a number without the text that `String(_:)` would allocate for each line.
    private static func write(_ number: Int64, to bytes: inout [UInt8]) {
        var divisor: Int64 = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    /// Appends what the page shows of the list for all users and of a user's own list, until it is full or
    /// ``NumberRead/mostRows`` numbers were read.
    ///
    /// A user's own entry takes the place of the one for all users; a number with neither was removed. A page of changes
    /// shows the numbers of which one of the two rows is newer than the client's version.
    ///
    /// - Parameters:
    ///   - limit: The largest number of lines.
    ///   - nextOwn: Returns the next row of the user's own list, in the order of the numbers and with removed numbers;
    ///     `nil` = there is no further one.
    ///   - nextShared: The same for the list for all users.
    /// - Throws: The errors of the two.
    package mutating func scan<Failure: Error>(
        limit: Int,
        own nextOwn: () throws(Failure) -> NumberRow?,
        shared nextShared: () throws(Failure) -> NumberRow?
    ) throws(Failure) {
        var (own, shared) = (try nextOwn(), try nextShared())
        for _ in 0..<NumberRead.mostRows {
            guard let number = [own?.number, shared?.number].compactMap({ $0 }).min() else { return }
            let mine = own?.number == number ? own : nil
            let everybodys = shared?.number == number ? shared : nil
            let shown = [mine, everybodys].compactMap { $0 }.first { $0.removedAt == nil }
            let isNew = step.since.map { since in [mine, everybodys].contains { ($0?.version ?? 0) > since } }
            if isNew ?? (shown != nil) {
                guard append(number, shown?.label, isShown: shown != nil, limit: limit) else { return }
            } else {
                last = number.rawValue
            }
            if mine != nil {
                rowsRead += 1
                own = try nextOwn()
            }
            if everybodys != nil {
                rowsRead += 1
                shared = try nextShared()
            }
        }
        isLast = own == nil && shared == nil
    }
}
