import CallCore
import CallPorts
import DequeModule

/// What the call directory needs in memory: its counters, the numbers that users block, and the updates.
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

    /// An update that was compared, and is being stored.
    private struct UpdateUnderWay {
        /// The request and its response; `nil` = the request was refused meanwhile.
        var answer: (RequestID, Reply)?
        let owner: UserID?
        /// The rows that are not handed to the store yet.
        var rest: ArraySlice<NumberComparison.Difference>
    }

    private(set) var state: NumberState
    private var blockedNumbers: [UserID: Set<PhoneNumber>]
    /// The updates that wait, oldest first; the first one is being compared, unless another is being stored.
    ///
    /// One follows the other, so that the comparison of each sees the changes of all before it.
    private var waiting = Deque<PendingUpdate>()
    private var storing: UpdateUnderWay?
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

    /// The number of updates that wait or are being stored.
    var updateCount: Int { waiting.count + (storing == nil ? 0 : 1) }

    /// The update to compare next.
    var nextUpdate: PendingUpdate? { waiting.first }

    /// Queues an update; returns whether it is the first: compare that now.
    mutating func queue(_ update: PendingUpdate) -> Bool {
        waiting.append(update)
        return updateCount == 1
    }

    /// Removes and returns the update that was compared.
    mutating func takeUpdate() -> PendingUpdate? { waiting.popFirst() }

    /// Begins to store an update; its request gets the response when all of it is durable.
    mutating func store(_ update: PendingUpdate, _ differences: [NumberComparison.Difference], response: Reply) {
        storing = UpdateUnderWay(answer: (update.id, response), owner: update.owner, rest: differences[...])
    }

    /// Returns the change with the next part of the update that is being stored; `nil` = there is no further part.
    mutating func takePart() -> NumberChange? {
        guard let update = storing, !update.rest.isEmpty else { return nil }
        let part = update.rest.prefix(SwitchboardLimits.numbersPerCommit)
        storing?.rest.removeFirst(part.count)
        if update.owner == nil { state.count += part.reduce(0) { $0 + $1.growth } }
        return change(of: update.owner, .identities, part.map(\.row))
    }

    /// Whether a part of the update that is being stored is left.
    var hasPart: Bool { storing?.rest.isEmpty == false }

    /// Ends the update that is being stored; returns its request and the response, unless it was refused.
    mutating func endStoring() -> (RequestID, Reply)? {
        defer { storing = nil }
        return storing?.answer
    }

    /// Drops the remaining parts of the update that is being stored; returns its request, for the refusal.
    mutating func interruptStoring() -> RequestID? {
        defer { storing?.answer = nil }
        storing?.rest = []
        return storing?.answer?.0
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
