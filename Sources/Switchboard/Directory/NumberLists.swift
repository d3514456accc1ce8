import CallCore
import CallPorts
import DequeModule

/// What the call directory needs in memory: its counters, the numbers that users block, and the updates that wait.
///
/// The names of callers are in the store only.
struct NumberLists {
    /// An update that waits until the store has compared it, or until the updates before it are done.
    struct PendingUpdate {
        let id: RequestID
        /// The user whose names change; `nil` = those for all users.
        let owner: UserID?
        let rows: [NumberRow]
        /// The service that makes the update.
        let service: UserID
    }

    private(set) var state: NumberState
    private var blockedNumbers: [UserID: Set<PhoneNumber>]
    /// The updates, oldest first; the first one is being compared.
    ///
    /// One follows the other, so that the comparison of each sees the changes of all before it.
    private(set) var updates = Deque<PendingUpdate>()
    /// The number of pages that each user awaits.
    private var reads: [UserID: Int] = [:]

    init(_ stored: StoredNumbers) {
        state = stored.state
        blockedNumbers = stored.blocked
    }

    // MARK: Blocked numbers

    /// Returns the numbers that a user blocks.
    func blocked(by user: UserID) -> Set<PhoneNumber> { blockedNumbers[user] ?? [] }

    /// Whether a user blocks any number; the numbers of most offers need not be read.
    func hasBlocked(_ user: UserID) -> Bool { blockedNumbers[user] != nil }

    /// Adds a block, and returns the change to store; `nil` = the number is blocked already.
    mutating func block(_ number: PhoneNumber, by user: UserID) -> NumberChange? {
        guard blockedNumbers[user, default: []].insert(number).inserted else { return nil }
        return change(of: user, .blocks, [NumberRow(number: number)])
    }

    /// Removes a block, and returns the change to store; `nil` = the number was not blocked.
    mutating func unblock(_ number: PhoneNumber, by user: UserID, at now: Moment) -> NumberChange? {
        guard blockedNumbers[user]?.remove(number) != nil else { return nil }
        if blockedNumbers[user]?.isEmpty == true { blockedNumbers[user] = nil }
        return change(of: user, .blocks, [NumberRow(number: number, removedAt: now)])
    }

    // MARK: Updates

    /// Queues an update; returns whether it is the first, which is to be compared now.
    mutating func queue(_ update: PendingUpdate) -> Bool {
        updates.append(update)
        return updates.count == 1
    }

    /// Removes and returns the first update.
    mutating func takeUpdate() -> PendingUpdate? { updates.popFirst() }

    /// Returns the change to store for an update; `count` is the number of names for all users afterwards.
    mutating func change(of owner: UserID?, _ rows: [NumberRow], count: Int) -> NumberChange {
        state.count = count
        return change(of: owner, .identities, rows)
    }

    private mutating func change(of owner: UserID?, _ list: NumberList, _ rows: [NumberRow]) -> NumberChange {
        state.version += 1
        var rows = rows
        for index in rows.indices { rows[index].version = state.version }
        return NumberChange(owner: owner, list: list, rows: rows, state: state)
    }

    // MARK: Reading

    /// Counts a page that a user awaits; returns `false` if the user awaits as many as are allowed.
    mutating func beginRead(of user: UserID) -> Bool {
        guard reads[user, default: 0] < SwitchboardLimits.directoryReads else { return false }
        reads[user, default: 0] += 1
        return true
    }

    mutating func endRead(of user: UserID) {
        guard let count = reads[user] else { return }
        reads[user] = count > 1 ? count - 1 : nil
    }
}
