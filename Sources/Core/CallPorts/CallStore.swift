package import CallCore

/// The port to the database, which stores calls, devices and blocks.
///
/// The switchboard holds in memory everything that its decisions depend on, except calls at rest. The store keeps the
/// data for the next start, and for the history. Changes are committed in the order given, many at a time.
/// Only ``open(at:)`` and ``close()`` block the event loop.
package protocol CallStore: AnyObject, Sendable {
    /// Opens the store and reads the state with which the switchboard continues: devices, blocks, live calls with their
    /// logs, and which ended calls still have a log.
    ///
    /// Nothing of the history is read: the time of a start must not depend on the number of past calls.
    ///
    /// Called once, before everything else. Marks the store as in use; ``close()`` removes the mark, a crash does not.
    /// - Throws: ``StoreFailure`` in one sentence that an operator understands (not writable, in use, newer version).
    func open(at now: Moment) throws(StoreFailure) -> StoredState

    /// Queues changes and returns immediately; ``StoreReport/committed(upTo:)`` follows when they are durable.
    ///
    /// The changes of one call are committed together or not at all. Tickets only grow.
    /// - Returns: `true` when the changes are durable already, as in a store without a disk; no report follows then.
    func commit(_ changes: [Change], as ticket: Ticket) -> Bool

    /// Queues a query, which sees every change queued before. ``StoreReport/queryResult(_:_:)`` follows.
    ///
    /// Queries are run in the order of their lanes (``StoreQuery/lane``).
    func submit(_ query: StoreQuery, as id: StoreQueryID)

    /// Commits all queued changes, marks the store as closed cleanly, and releases it.
    ///
    /// Waiting queries of the lane ``QueryLane/bulk`` fail.
    func close()
}

/// A report of a store to the event loop.
///
/// The store passes it, on any thread, to the closure that the store was created with.
package enum StoreReport: Sendable {
    /// Every change up to this ticket is durable.
    case committed(upTo: Ticket)
    /// Nothing can be written at present (because the disk is full, for instance). The store keeps trying, and queued
    /// changes are not lost.
    case stalled(StoreFailure)
    /// Writing works again.
    case recovered
    /// Another server has taken over the database. This server's changes are no longer written, and it must end.
    case deposed(StoreFailure)
    /// The database had lost commits that it had confirmed, because a standby without them has taken over.
    ///
    /// The store has sent `resent` of them again, which are durable now; it no longer had the `lost` older ones.
    case behind(resent: Int, lost: Int)
    /// An invalid value was read.
    indirect case damaged(DamagedValue)
    /// The result of a query.
    indirect case queryResult(StoreQueryID, StoreResult)
}

/// The number of a commit; grows by one with each.
package struct Ticket: Hashable, Comparable, Sendable {
    /// The number, from 1.
    package let rawValue: UInt64

    /// The ticket with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Whether `a` was issued before `b`.
    @inlinable
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The number of a query, which its result repeats.
package struct StoreQueryID: Hashable, Sendable {
    /// The number, from 1.
    package let rawValue: UInt64

    /// The query with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The reason why a store cannot do its work, in one sentence.
package struct StoreFailure: Error, Equatable, Sendable {
    /// The failure, and the remedy if there is one.
    package let message: String

    /// A failure with this message.
    package init(_ message: String) { self.message = message }

    /// The failure of a query that still waited when the store was closed.
    package static let closing = StoreFailure("The server is stopping.")
}

/// One change to store.
package enum Change: Equatable, Sendable {
    /// A call began or changed; replaces the record with the same number.
    indirect case call(CallRecord)
    /// A log entry was appended to a call; (number, seq) is unique.
    case entry(CallNumber, EntryRecord)
    /// An event was added to a call's timeline.
    case event(CallNumber, TimelineRecord)
    /// The call can no longer be fetched: its log is deleted, its record and timeline stay for the history.
    case logForgotten(CallNumber)
    /// Calls that ended before this moment are deleted completely, with log and timeline.
    case historyForgotten(before: Moment)
    /// A device was registered or changed; replaces the device with the same user and id.
    indirect case device(DeviceRecord)
    /// A device was removed.
    case deviceRemoved(UserID, DeviceID)
    /// `by` blocked a user at a moment.
    case blocked(UserID, by: UserID, at: Moment)
    /// `by` no longer blocks a user.
    case unblocked(UserID, by: UserID)
    /// A user set do-not-disturb until a moment; `nil` = the user ended it.
    case doNotDisturb(UserID, until: Moment?)
    /// A schedule was made or changed; replaces the schedule with the same user and id.
    indirect case schedule(ScheduleRecord)
    /// A schedule was removed, or has no further call.
    case scheduleRemoved(UserID, ScheduleID)
    /// Tokens of a user that were issued up to a moment are refused; replaces the user's earlier revocation.
    case revoked(UserID, before: Moment)
    /// Numbers of a list of the call directory were written or removed.
    indirect case numbers(NumberChange)
    /// The oldest of the numbers that were removed from their lists before this moment are deleted, at most
    /// ``NumberChange/forgottenAtOnce``; readers that have not been told of their removal read the whole list again.
    case removalsForgotten(before: Moment)
    /// The values of `seq` that earlier runs may have sent to clients and lost in a crash no longer matter:
    /// ``StoredState/uncleanStarts`` is counted from 0 again.
    case uncleanStartsForgotten
    /// An event for the app's backend happened.
    indirect case appEvent(AppEvent)
    /// An endpoint of the app's backend is new, or has a later position; replaces the endpoint with the same address.
    indirect case eventEndpoint(EventEndpoint)
    /// An endpoint was removed, with its held events.
    case eventEndpointRemoved(url: String)
    /// An event is held for an endpoint; replaces the held event with the same endpoint and position.
    indirect case eventHeld(HeldEvent)
    /// An event is no longer held for an endpoint.
    case eventReleased(url: String, EventPosition)
    /// The events up to a position are deleted, and no longer held; if `keepsHeld`, all but those that are held for an
    /// endpoint.
    case eventsForgotten(upTo: EventPosition, keepsHeld: Bool)
}

/// A query to the store.
package enum StoreQuery: Equatable, Sendable {
    /// A user's calls as caller or callee, newest first, at most `limit`, with numbers below `before`.
    ///
    /// Without a user: the calls of all users, and those that a schedule rings.
    case history(UserID?, limit: Int, before: CallNumber?)
    /// A call and its timeline.
    case timeline(CallSelector)
    /// The users with whom a user has had a call, newest first.
    ///
    /// At most `limit` of the user's newest calls as caller are searched, and as many as callee.
    case peers(UserID, limit: Int)
    /// A call with its log, if the log is still stored.
    case log(CallNumber)
    /// The newest epoch of a callId and its two users, including calls without a stored log.
    case epoch(CallKey)
    /// A page of a user's list of the call directory.
    indirect case numbers(NumberRead)
    /// The rows of an update that would change the names of a user, or those for all users (`nil`).
    case numberChanges(UserID?, [NumberRow])
    /// A page of events for the app's backend.
    indirect case events(EventRead)
    /// Held events of an endpoint, with their content.
    indirect case heldEvents(HeldRead)
    /// What is to be deleted so that the bounds on stored events are kept.
    case eventExcess(EventBounds)
}

/// A choice among calls: the newest call that fits.
///
/// A callId alone may fit several calls, because it may be in use with several users and may be used again.
package struct CallSelector: Equatable, Sendable {
    /// The callId.
    package var id: CallID
    /// The users that take part: empty for any users, one user, or two.
    package var users: [UserID]
    /// The epoch of the call; `nil` = any.
    package var epoch: UInt32?
    /// The user that asks; `nil` = an operator or a service, who may see every call.
    ///
    /// A call that is hidden from this user, by a block or because its callId was taken, is left out.
    package var viewer: UserID?

    /// A choice with the given members.
    package init(_ id: CallID, of users: [UserID] = [], epoch: UInt32? = nil, seenBy viewer: UserID? = nil) {
        self.id = id
        self.viewer = viewer
        self.users = users
        self.epoch = epoch
    }

    /// Whether a call fits the choice.
    package func matches(_ call: CallRecord) -> Bool {
        call.id == id && epoch ?? call.epoch == call.epoch
            && users.allSatisfy { call.caller == $0 || call.callee == $0 }
            && viewer.map { call.concerns($0) } ?? true
    }
}

extension CallRecord {
    /// Whether a user may see the call: its caller may, unless the call is scheduled, and its callee unless a block, a
    /// taken callId or the app's backend hides it from them.
    ///
    /// No user sees a refused offer.
    @inlinable
    package func concerns(_ user: UserID) -> Bool {
        switch hidden {
        case .refusedOffer: false
        case .block, .callIDTaken, .app: caller == user && scheduled == nil
        case .doNotDisturb, nil: caller == user && scheduled == nil || callee == user
        }
    }
}

/// The result of a query to a store.
package enum StoreResult: Equatable, Sendable {
    /// The result of ``StoreQuery/history(_:limit:before:)``.
    case history([CallRecord])
    /// The result of ``StoreQuery/timeline(_:)``: the record, `nil` when there is no such call, and its events.
    case timeline(CallRecord?, [TimelineRecord])
    /// The result of ``StoreQuery/peers(_:limit:)``.
    case peers([UserID])
    /// The result of ``StoreQuery/log(_:)``; `nil` when there is no such call, or its log was deleted.
    indirect case log(StoredCall?)
    /// The result of ``StoreQuery/epoch(_:)``: the newest epoch, or a greater one if the calls are too many to search;
    /// `nil` when there is no call.
    case epoch(UInt32?)
    /// The result of ``StoreQuery/numbers(_:)``.
    indirect case numbers(NumberPage)
    /// The result of ``StoreQuery/numberChanges(_:_:)``.
    indirect case numberChanges(NumberComparison)
    /// The result of ``StoreQuery/events(_:)``.
    indirect case events(EventPage)
    /// The result of ``StoreQuery/heldEvents(_:)``.
    case heldEvents([HeldContent])
    /// The result of ``StoreQuery/eventExcess(_:)``.
    case eventExcess(EventExcess)
    /// The query failed.
    case failed(StoreFailure)
}

/// The contents of a store when it is opened.
package struct StoredState: Equatable, Sendable {
    /// The live calls, with their logs, oldest first.
    package var calls: [StoredCall] = []
    /// The ended calls with a stored log, without that log, oldest first.
    package var ended: [EndedCall] = []
    /// Every device.
    package var devices: [DeviceRecord] = []
    /// Every block of one user by another.
    package var blocks: [BlockRecord] = []
    /// The users that have set do-not-disturb, each with its end.
    package var doNotDisturb: [UserID: Moment] = [:]
    /// Every schedule.
    package var schedules: [ScheduleRecord] = []
    /// The moments of revocations: a user's tokens that were issued up to the user's moment are refused.
    package var revocations: [UserID: Moment] = [:]
    /// The call directory's counters, and the numbers that users block.
    package var numbers = StoredNumbers()
    /// What a start needs of the events for the app's backend.
    package var events = StoredEvents()
    /// The highest call number ever used; 0 when there was no call.
    package var lastCallNumber: Int64 = 0
    /// When the newest call in the history began; `nil` when there is none.
    package var lastCallAt: Moment?
    /// How many times the store was opened without having been closed cleanly before.
    ///
    /// Counted since the last ``Change/uncleanStartsForgotten``. A start after a clean stop does not change the count.
    package var uncleanStarts: Int = 0
    /// The invalid values that were found; the members above contain none of them.
    package var damages: [DamagedValue] = []

    /// An empty store.
    package init() {}

    /// Adds a call with a stored log, which is newer than all others: with the log if the call is live, without it if the
    /// call has ended.
    package mutating func append(_ call: StoredCall) {
        if let end = EndedCall(call.record) { ended.append(end) } else { calls.append(call) }
    }
}

/// A call with its log.
package struct StoredCall: Equatable, Sendable {
    /// The call.
    package var record: CallRecord
    /// The log, in `seq` order.
    package var entries: [EntryRecord]

    /// A call with its log.
    @inlinable
    package init(record: CallRecord, entries: [EntryRecord]) {
        self.record = record
        self.entries = entries
    }
}

/// What a start needs of an ended call with a stored log.
///
/// The rest is read when a client asks for the call.
package struct EndedCall: Equatable, Sendable {
    /// Which call it is, and its two users.
    ///
    /// `scheduled` of the identity tells only whether the call is scheduled.
    package var identity: CallIdentity
    /// When the call ended.
    package var endedAt: Moment
    /// The sides with a device that may not know of the end.
    package var uninformed: [Side]

    /// An ended call with the given members.
    package init(_ identity: CallIdentity, endedAt: Moment, uninformed: [Side]) {
        self.identity = identity
        self.endedAt = endedAt
        self.uninformed = uninformed
    }

    /// The ended call of a record; `nil` = the call is live.
    package init?(_ record: CallRecord) {
        guard let endedAt = record.endedAt else { return nil }
        let identity = CallIdentity(
            number: record.number,
            key: CallKey(id: record.id, pair: Pair(record.caller, record.callee)),
            epoch: record.epoch,
            caller: record.caller,
            isHidden: record.hidden != nil,
            scheduled: record.scheduled.map { _ in .once }
        )
        self.init(identity, endedAt: endedAt, uninformed: Self.uninformed(record.session.legs))
    }

    /// Returns the sides with a device that may not know of the end.
    package static func uninformed(_ legs: [Leg]) -> [Side] {
        Side.allCases.filter { side in legs.contains { $0.side == side && $0.phase == .endNotDelivered } }
    }
}

/// A block of one user by another.
package struct BlockRecord: Hashable, Sendable {
    /// The user that blocks.
    package var by: UserID
    /// The user that is blocked.
    package var blocked: UserID
    /// When the block was set.
    package var at: Moment

    /// `by` blocked `blocked` at a moment.
    package init(by: UserID, blocked: UserID, at: Moment) {
        self.by = by
        self.blocked = blocked
        self.at = at
    }
}
