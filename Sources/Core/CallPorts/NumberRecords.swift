package import CallCore

/// A list of phone numbers in the call directory.
package enum NumberList: Int64, Sendable, CaseIterable {
    /// The names of callers.
    case identities = 0
    /// The numbers that a user blocks.
    case blocks = 1
}

/// A number in a list, or the record that it was removed from the list.
///
/// Removed numbers are kept for a while, so that a client can be told what has changed since it last read the list.
package struct NumberRow: Equatable, Sendable {
    /// The number.
    package var number: PhoneNumber
    /// The name that is shown for the number; `nil` in a list of blocked numbers, and for a removed number.
    package var label: String?
    /// The version of the lists that brought this row.
    package var version: Int64
    /// When the number was removed; `nil` = it is in the list.
    package var removedAt: Moment?

    /// A row with the given members.
    package init(number: PhoneNumber, label: String? = nil, version: Int64 = 0, removedAt: Moment? = nil) {
        self.number = number
        self.label = label
        self.version = version
        self.removedAt = removedAt
    }

    /// Whether a list that contains `other` shows the same as one that contains this row.
    @inlinable
    package func shows(the other: NumberRow) -> Bool {
        (removedAt == nil) == (other.removedAt == nil) && label == other.label
    }
}

/// The counters of all lists.
package struct NumberState: Equatable, Sendable {
    /// The number of the newest change of any list; 0 = there was none.
    ///
    /// It never goes back.
    package var version: Int64
    /// The oldest version since which every removal is still stored.
    package var oldest: Int64
    /// The number of names for all users.
    package var count: Int

    /// Counters with the given values.
    package init(version: Int64 = 0, oldest: Int64 = 0, count: Int = 0) {
        self.version = version
        self.oldest = oldest
        self.count = count
    }
}

/// A change of one list.
package struct NumberChange: Equatable, Sendable {
    /// The user whose list changes; `nil` = the list for all users.
    package var owner: UserID?
    /// The list.
    package var list: NumberList
    /// The rows to write, each number at most once; each replaces the row with the same number.
    package var rows: [NumberRow]
    /// The counters after the change; a store never lets a version go back.
    package var state: NumberState

    /// The number of removals that a store forgets in one transaction, which takes some milliseconds.
    package static let forgottenAtOnce = 5_000

    /// A change with the given members.
    package init(owner: UserID?, list: NumberList, rows: [NumberRow], state: NumberState) {
        self.owner = owner
        self.list = list
        self.rows = rows
        self.state = state
    }
}

/// The rows of an update that would change a list.
package struct NumberComparison: Equatable, Sendable {
    /// A row that would change something.
    package struct Difference: Equatable, Sendable {
        /// The row of the update.
        package var row: NumberRow
        /// Whether the row's number is in the list now.
        package var isPresent: Bool

        /// A difference with the given members.
        package init(row: NumberRow, isPresent: Bool) {
            self.row = row
            self.isPresent = isPresent
        }

        /// By how much the row changes the number of rows that the list shows: -1, 0 or 1.
        package var growth: Int { (row.removedAt == nil ? 1 : 0) - (isPresent ? 1 : 0) }
    }

    /// The rows that would change something, in the order of the update.
    package var differences: [Difference]
    /// How many numbers are in the list of a user; 0 for the list for all users, whose count is in ``NumberState``.
    package var count: Int

    /// A comparison with the given members.
    package init(_ differences: [Difference], count: Int) {
        self.differences = differences
        self.count = count
    }

    /// Compares an update with the rows that are stored for its numbers.
    ///
    /// - Parameters:
    ///   - update: The rows of the update.
    ///   - stored: The stored rows among these numbers, those of removed numbers included.
    ///   - count: See ``count``.
    package init(of update: [NumberRow], with stored: [PhoneNumber: NumberRow], count: Int) {
        self.init([], count: count)
        for row in update {
            let old =
                stored[row.number] ?? NumberRow(number: row.number, removedAt: row.removedAt ?? Moment(milliseconds: 0))
            guard !row.shows(the: old) else { continue }
            differences.append(Difference(row: row, isPresent: old.removedAt == nil))
        }
    }
}

/// The data of the call directory that a start of the server needs.
package struct StoredNumbers: Equatable, Sendable {
    /// The counters.
    package var state = NumberState()
    /// The numbers that each user blocks.
    package var blocked: [UserID: Set<PhoneNumber>] = [:]

    /// An empty directory.
    package init() {}
}
