import CallCore
import CallPorts
package import CallWire

/// The call directory: names of callers by phone number, and blocked numbers (protocol, section 5.10).
extension Switchboard {
    // MARK: Reading

    mutating func readNumbers(_ query: NumberQuery, by principal: Principal, as id: RequestID) {
        guard !principal.isService else {
            refuse(id, WireError(.forbidden, "only a user's token may read the directory"))
            return
        }
        // Tags are made from stored versions only: if the client's equals the newest, its page is current.
        let tag = Self.tag(
            query.list,
            directory.numbers.state.version,
            page: query.cursor?.place?.page ?? 1,
            principal.user
        )
        if query.knownTags.contains(tag) || query.knownTags.contains("*") {
            metrics.numberPages.unchanged += 1
            turn.out.append(.reply(id, Reply(status: 304, body: [], entityTag: tag)))
            return
        }
        guard limits.directoryPages.take(principal.user, at: turn.now) else {
            let (burst, rate) = (
                SwitchboardLimits.directoryPageBurst, Int(SwitchboardLimits.directoryPagesPerSecond)
            )
            let rule =
                "at most \(burst) pages of the call directory at once, and \(rate) a second on average; one for which many "
                + "changes are counted is several"
            refuse(id, exceeded(.directoryReads, rule))
            return
        }
        guard directory.numbers.beginRead(of: principal.user) else {
            let limit = SwitchboardLimits.directoryReads
            refuse(id, exceeded(.directoryReads, "at most \(limit) pages of the call directory at the same time"))
            return
        }
        let read = NumberRead(user: principal.user, list: query.list, cursor: query.cursor, limit: query.limit)
        submit(.numbers(read), for: .numbers(id, principal.user))
    }

    mutating func respond(_ page: NumberPage, to user: UserID, as id: RequestID) {
        directory.numbers.endRead(of: user)
        // One page was taken when the request came.
        limits.directoryPages.spend(page.rowsRead / SwitchboardLimits.rowsPerDirectoryPage, user, at: turn.now)
        if page.step.since == nil { metrics.numberPages.complete += 1 } else { metrics.numberPages.changes += 1 }
        let kind = page.step.since == nil ? "complete" : "changes"
        let line = "\(page.cursor.text)\t\(kind)\t\(page.isLast ? "end" : "more")\t\(page.step.page)\n"
        var body: [UInt8] = []
        body.reserveCapacity(line.utf8.count + page.lines.count)
        body.append(contentsOf: line.utf8)
        body.append(contentsOf: page.lines)
        let tag = Self.tag(page.list, page.version, page: page.step.page, user)
        turn.out.append(.reply(id, Reply(body: body, entityTag: tag)))
    }

    mutating func numbersFailed(_ id: RequestID, _ user: UserID) {
        directory.numbers.endRead(of: user)
        turn.out.append(.reply(id, Self.storeUnavailable))
    }

    /// Returns the entity tag of a page, which has the user's id in it: a cache that several users share must not show
    /// one the names of the other.
    private static func tag(_ list: NumberList, _ version: Int64, page: Int64, _ user: UserID) -> String {
        #"W/"\#(list == .identities ? "i" : "b")\#(version).\#(page).\#(user.text)""#
    }

    // MARK: Names

    /// The refusal of an update by a user.
    package static let onlyServicesChangeNumbers = WireError(
        .forbidden,
        "only a service token may change the directory"
    )

    mutating func updateNumbers(
        of owner: UserID?,
        _ update: NumberUpdate,
        by principal: Principal,
        as id: RequestID
    ) {
        guard principal.isService else {
            refuse(id, Self.onlyServicesChangeNumbers)
            return
        }
        guard !metrics.isStalled else {
            turn.out.append(.reply(id, Self.storeUnavailable))
            return
        }
        guard directory.numbers.updateCount < SwitchboardLimits.directoryUpdates else {
            let limit = SwitchboardLimits.directoryUpdates
            refuse(id, exceeded(.directoryUpdates, "at most \(limit) updates of the call directory at the same time"))
            return
        }
        let rows = update.lines.map { line in
            NumberRow(number: line.number, label: line.label, removedAt: line.label == nil ? turn.now : nil)
        }
        let pending = NumberLists.PendingUpdate(id: id, owner: owner, rows: rows, service: principal.user)
        if directory.numbers.queue(pending) { compare(pending) }
    }

    private mutating func compare(_ update: NumberLists.PendingUpdate) {
        submit(.numberChanges(update.owner, update.rows), for: .numberChanges)
    }

    /// Carries out the first update after its comparison with the store; `found` = `nil` if the store could not compare it.
    mutating func numbersCompared(_ found: NumberComparison?) {
        guard let update = directory.numbers.takeUpdate() else { return }
        if let found, !metrics.isStalled {
            carryOut(update, found)
        } else {
            turn.out.append(.reply(update.id, Self.storeUnavailable))
        }
        storeNextNumbers()
    }

    private mutating func carryOut(_ update: NumberLists.PendingUpdate, _ found: NumberComparison) {
        let before = update.owner == nil ? directory.numbers.state.count : found.count
        let count = found.differences.reduce(before) { $0 + $1.growth }
        let limit = update.owner == nil ? policy.directoryNumbers : policy.directoryNumbersPerUser
        // A list above a limit that was lowered may still become shorter.
        guard count <= limit || !found.differences.contains(where: { $0.growth > 0 }) else {
            refuse(
                update.id,
                WireError(
                    .tooLarge,
                    "numbers: at most \(limit); with this update there would be \(count)",
                    field: "numbers"
                )
            )
            return
        }
        let changed = found.differences.count
        if changed > 0 {
            turn.out.append(.audit(.directoryChanged(by: update.service, of: update.owner, changed: changed)))
        }
        let response = Reply(body: NumberUpdate.response(changed: changed, numbers: count))
        directory.numbers.store(update, found.differences, response: response)
    }

    /// Stores the next part of the update under way; after its last part, responds and begins the next update.
    ///
    /// Signals that come meanwhile wait for one part only, not for the whole update.
    mutating func storeNextNumbers() {
        if let change = directory.numbers.takePart() {
            commits.append(.numbers(change))
            metrics.numbers = directory.numbers.state.count
            metrics.numbersChanged += UInt64(change.rows.count)
            if directory.numbers.hasPart {
                commits.wait(.numbersStored, since: turn.now)
                return
            }
        }
        if let (id, response) = directory.numbers.endStoring() { sendWhenDurable(.reply(id, response)) }
        if let next = directory.numbers.nextUpdate { compare(next) }
    }

    /// Refuses the update that is being stored; its next parts are not stored.
    mutating func refuseNumbersUnderWay() {
        if let id = directory.numbers.interruptStoring() { turn.out.append(.reply(id, Self.storeUnavailable)) }
    }

    /// Forgets numbers that were removed so long ago that few clients still need to be told of it.
    mutating func forgetRemovedNumbers() {
        // Most servers have no call directory, and need no commit for it.
        guard directory.numbers.state.version > 0 else { return }
        commits.append(.removalsForgotten(before: turn.now - SwitchboardLimits.removalsStored))
    }

    // MARK: Blocked numbers

    mutating func block(_ number: PhoneNumber, by principal: Principal, as id: RequestID) {
        let own = directory.numbers.blocked(by: principal.user)
        if !own.contains(number) {
            guard own.count < policy.blockedNumbersPerUser else {
                refuse(id, exceeded(.blocks, "at most \(policy.blockedNumbersPerUser) numbers can be blocked"))
                return
            }
            guard limits.numberBlocks.take(principal.user, at: turn.now) else {
                refuse(id, exceeded(.blocks, "too many numbers were blocked and unblocked"))
                return
            }
            if let change = directory.numbers.block(number, by: principal.user) { commits.append(.numbers(change)) }
            turn.out.append(.audit(.numberBlocked(by: principal.user)))
        }
        sendWhenDurable(.reply(id, Reply(body: BlockBody.one(number))))
    }

    mutating func unblock(_ number: PhoneNumber, by principal: Principal, as id: RequestID) {
        if let change = directory.numbers.unblock(number, by: principal.user, at: turn.now) {
            commits.append(.numbers(change))
            turn.out.append(.audit(.numberUnblocked(by: principal.user)))
        }
        sendWhenDurable(.reply(id, Reply(body: AcceptedBody.ok)))
    }

    /// Whether a callee blocks the number by which an offer shows its caller.
    func isNumberBlocked(in offer: SignalMessage, of caller: UserID, by callee: UserID) -> Bool {
        guard directory.numbers.hasBlocked(callee) else { return false }
        return isAnyBlocked(offer.relayed.phoneNumbers(of: caller), by: callee)
    }

    /// Whether a user blocks one of these numbers.
    func isAnyBlocked(_ numbers: [PhoneNumber], by user: UserID) -> Bool {
        let blocked = directory.numbers.blocked(by: user)
        return numbers.contains { blocked.contains($0) }
    }
}
