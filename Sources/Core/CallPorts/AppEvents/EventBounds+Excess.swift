package import CallCore

/// What a store knows of its events without looking at them.
package struct EventSums: Equatable, Sendable {
    /// The sum of ``AppEvent/byteCount`` of the stored events.
    package var bytes: Int64
    /// The position of the newest event, which is never deleted: the next event's position follows from it.
    package var newest: EventPosition
    /// ``EventEndpoint/settledUpTo`` of each endpoint.
    package var settled: [EventPosition]
    /// Every event up to this position is held, because the others were deleted.
    package var thinnedUpTo: EventPosition

    /// Sums with the given members.
    package init(bytes: Int64, newest: EventPosition, settled: [EventPosition], thinnedUpTo: EventPosition) {
        self.bytes = bytes
        self.newest = newest
        self.settled = settled
        self.thinnedUpTo = thinnedUpTo
    }
}

/// What the bounds on stored events need to know of an event.
package struct EventRow: Equatable, Sendable {
    /// The event's position.
    package var position: EventPosition
    /// When the event happened, in milliseconds since 1970, as it is stored.
    package var at: Int64
    /// The event's ``AppEvent/byteCount``.
    package var bytes: Int64
    /// Whether the event is held for an endpoint.
    package var isHeld: Bool

    /// An event with the given members.
    package init(position: EventPosition, at: Int64, bytes: Int64, isHeld: Bool) {
        self.position = position
        self.at = at
        self.bytes = bytes
        self.isHeld = isHeld
    }
}

extension EventBounds {
    /// Finds what the bounds demand.
    ///
    /// It looks at the oldest events, and at the oldest delivered ones: at two portions of ``EventRead/limit`` at most.
    /// - Parameters:
    ///   - sums: What the store knows without looking at its events.
    ///   - rows: Returns the oldest events after a position and up to another, at most one more than
    ///     ``EventRead/limit``.
    /// - Returns: What is to be deleted.
    /// - Throws: The failure of `rows`.
    package func excess<Failure: Error>(
        _ sums: EventSums,
        _ rows: (_ after: EventPosition, _ upTo: EventPosition) throws(Failure) -> [EventRow]
    ) throws(Failure) -> EventExcess {
        let last = EventPosition(rawValue: sums.newest.rawValue - 1)
        let oldest = try rows(.start, last)
        if let excess = expired(oldest, sums) { return excess }
        guard sums.bytes > bytes, !oldest.isEmpty else { return EventExcess(upTo: nil) }
        let delivered = min(last, sums.settled.min() ?? last)
        if sums.thinnedUpTo < delivered {
            // A portion of which all are held frees nothing; the next one begins after it.
            let portion = try rows(sums.thinnedUpTo, delivered).prefix(EventRead.limit)
            if let found = cut(portion, sums, of: \.freedBytes) {
                return EventExcess(upTo: found.upTo, keepsHeld: true, hasMore: !found.isEnough)
            }
        }
        let portion = oldest.prefix(EventRead.limit)
        guard let found = cut(portion, sums, of: \.bytes) else { return EventExcess(upTo: nil) }
        let gone = portion.prefix { $0.position <= found.upTo }
        let hasMore = !found.isEnough && portion.count < oldest.count
        return EventExcess(upTo: found.upTo, lostCount: lostCount(gone, sums), hasMore: hasMore)
    }

    private func expired(_ oldest: [EventRow], _ sums: EventSums) -> EventExcess? {
        let old = oldest.prefix(EventRead.limit).prefix(while: isOld)
        guard let end = old.last?.position else { return nil }
        var hasMore = false
        if old.count < oldest.count {
            hasMore = isOld(oldest[old.count]) || sums.bytes - old.reduce(0) { $0 + $1.bytes } > bytes
        }
        return EventExcess(upTo: end, lostCount: lostCount(old, sums), hasMore: hasMore)
    }

    /// An event of an impossible moment goes with its neighbours, because it would never become too old.
    private func isOld(_ row: EventRow) -> Bool {
        row.at < before.milliseconds || !StorableRange.moments.contains(row.at)
    }

    /// Returns how far the rows must go, and whether that is enough; `nil` if there are none.
    private func cut(
        _ rows: ArraySlice<EventRow>,
        _ sums: EventSums,
        of freed: (EventRow) -> Int64
    ) -> (upTo: EventPosition, isEnough: Bool)? {
        var left = sums.bytes
        for row in rows {
            left -= freed(row)
            if left <= bytes { return (row.position, true) }
        }
        return rows.last.map { ($0.position, false) }
    }

    private func lostCount(_ rows: ArraySlice<EventRow>, _ sums: EventSums) -> Int {
        guard let delivered = sums.settled.min() else { return 0 }
        return rows.count { $0.isHeld || $0.position > delivered }
    }
}

extension EventRow {
    /// The bytes that are freed when everything is deleted that is not held.
    fileprivate var freedBytes: Int64 { isHeld ? 0 : bytes }
}

extension EventRead {
    /// The number of events of a page: ``count``, within its limit.
    package var pageSize: Int { max(0, min(count, Self.limit)) }

    /// Makes the page of the events that were found.
    ///
    /// - Parameters:
    ///   - events: The events that are wanted and whose rows can be read, at most ``pageSize``.
    ///   - last: The position of the last row of the page, if its size ended it, or of the last row that was looked at,
    ///     if the limit on those did; `nil` = there are no further rows.
    ///   - oldest: The position of the oldest stored event.
    ///   - newest: The position of the newest one.
    /// - Returns: The page.
    package func page(
        _ events: [AppEvent],
        endedAt last: EventPosition?,
        oldest: EventPosition?,
        newest: EventPosition
    ) -> EventPage {
        let end = last ?? min(upTo ?? newest, newest)
        return EventPage(events: events, readUpTo: max(after, end), oldest: oldest)
    }
}

extension HeldRead {
    /// The number of events that are read: ``count``, within its limit.
    package var pageSize: Int { max(0, min(count, EventRead.limit)) }
}

extension EventIncarnation {
    /// Returns the incarnation that a restoration at a moment begins.
    package func next(at now: Moment) -> EventIncarnation {
        let seconds = UInt32(clamping: now.milliseconds / 1_000)
        return EventIncarnation(rawValue: max(rawValue == .max ? .max : rawValue + 1, seconds))
    }
}
