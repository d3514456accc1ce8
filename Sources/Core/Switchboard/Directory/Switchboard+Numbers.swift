package import CallCore
package import CallPorts
package import CallWire

extension Switchboard {
    /// A request about the call directory (protocol, section 5.10).
    package enum NumberRequest: Sendable {
        /// Return a page of a list of the call directory.
        indirect case read(NumberQuery)
        /// Change the names for a user's callers, or those for all users (`nil`).
        indirect case update(UserID?, NumberUpdate)

        /// The request's name in the log.
        var name: LogWord {
            switch self {
            case .read: "directory"
            case .update: "update_directory"
            }
        }
    }

    /// The parameters of a request for a page of a list of the call directory.
    package struct NumberQuery: Equatable, Sendable {
        /// The list.
        package var list: NumberList
        /// The client's place; `nil` = it has read nothing.
        package var cursor: NumberCursor?
        /// The largest number of lines.
        package var limit: Int
        /// The entity tags of the pages that the client has (`If-None-Match`).
        package var knownTags: [String]

        /// The largest number of lines that a client may ask for.
        package static let mostLines = 10_000

        /// A request with the given parameters.
        package init(
            _ list: NumberList = .identities,
            since cursor: NumberCursor? = nil,
            limit: Int = mostLines,
            knownTags: [String] = []
        ) {
            self.list = list
            self.cursor = cursor
            self.limit = limit
            self.knownTags = knownTags
        }
    }
}

/// The call directory: names of callers by phone number, and blocked numbers (protocol, section 5.10).
extension Switchboard {
    mutating func numbers(_ asked: NumberRequest, by principal: Principal, as id: RequestID) {
        switch asked {
        case .read(let query): readNumbers(query, by: principal, as: id)
        case .update(let owner, let update): updateNumbers(of: owner, update, by: principal, as: id)
        }
    }

    // MARK: Reading

    private mutating func readNumbers(_ query: NumberQuery, by principal: Principal, as id: RequestID) {
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
        guard limits.directoryPages.admit(principal.user, at: turn.now) else {
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

    private mutating func updateNumbers(
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
}
