public import CallCore

/// Where calls, devices and blocks are kept: the port to the database.
///
/// The switchboard holds in memory all that it decides on; the store remembers it for the next start, and for history.
/// Changes are committed in the order given, many at a time; nothing here blocks the loop but ``open(at:)`` and ``close()``.
public protocol CallStore: AnyObject, Sendable {
    /// Opens the store and reads all that lives on: calls not yet forgotten with their logs, devices, blocks.
    ///
    /// Called once, before all else. Marks the store as in use; ``close()`` takes that back, a crash does not.
    /// - Throws: ``StoreFailure`` in one sentence that an operator understands (not writable, in use, newer version).
    func open(at now: Moment) throws(StoreFailure) -> StoredState

    /// Queues changes and returns at once; ``StoreReport/committed(upTo:)`` follows when they are durable.
    ///
    /// The changes of one call are committed together or not at all. Tickets only grow.
    /// - Returns: `true` when they are durable already, as in a store that knows no disk; no report follows then.
    func commit(_ changes: [Change], as ticket: Ticket) -> Bool

    /// Queues a question; it sees every change queued before it. ``StoreReport/answered(_:_:)`` follows.
    func ask(_ question: Question, as id: QuestionID)

    /// Commits what is queued, marks the store as closed in good order, and lets go of it.
    func close()
}

/// What a store tells the loop, by the closure it was made with, from any thread.
public enum StoreReport: Sendable {
    /// Every change up to this ticket is durable.
    case committed(upTo: Ticket)
    /// Nothing can be written just now (disk full, say): the store goes on trying, and what is queued is not lost.
    case stalled(StoreFailure)
    /// Writing works again.
    case recovered
    /// A value was read that cannot be.
    indirect case damaged(DamagedValue)
    /// The answer to a question.
    indirect case answered(QuestionID, Answer)
}

/// Numbers a commit; grows by one with each.
public struct Ticket: Hashable, Comparable, Sendable {
    /// The number, from 1.
    public let rawValue: UInt64

    /// The ticket with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Whether `a` was drawn before `b`.
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Names a question from asking to answer.
public struct QuestionID: Hashable, Sendable {
    /// The number, from 1.
    public let rawValue: UInt64

    /// The question with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Why a store cannot do its work, in one sentence.
public struct StoreFailure: Error, Equatable, Sendable {
    /// What is wrong and, where there is one, what helps.
    public let message: String

    /// A failure described so.
    public init(_ message: String) { self.message = message }
}

/// One thing to keep.
public enum Change: Equatable, Sendable {
    /// A call began or changed; replaces the record with the same number.
    indirect case call(CallRecord)
    /// A log entry was appended to a call; (number, seq) is unique.
    case entry(CallNumber, EntryRecord)
    /// Something happened in a call that its timeline tells.
    case event(CallNumber, TimelineRecord)
    /// The call can no longer be fetched: its log goes, its record and timeline stay for the history.
    case logForgotten(CallNumber)
    /// Calls that ended before this moment go altogether, with log and timeline.
    case historyForgotten(before: Moment)
    /// A device was registered or changed; replaces the one with the same user and id.
    indirect case device(DeviceRecord)
    /// A device was removed.
    case deviceRemoved(UserID, DeviceID)
    /// `by` blocked a user at a moment.
    case blocked(UserID, by: UserID, at: Moment)
    /// `by` no longer blocks a user.
    case unblocked(UserID, by: UserID)
    /// A user is not to be disturbed until a moment; `nil` = may be again.
    case doNotDisturb(UserID, until: Moment?)
    /// Tokens of a user that were issued up to a moment are refused; replaces the user's earlier one.
    case revoked(UserID, before: Moment)
    /// Nothing that an earlier run may have shown and lost is of importance any more: ``StoredState/crashes`` is 0 again.
    case crashesForgotten
}

/// What is asked of the store.
public enum Question: Equatable, Sendable {
    /// A user's calls as caller or callee, newest first, at most `limit`, with numbers below `before`.
    case history(UserID, limit: Int, before: CallNumber?)
    /// A call and its timeline.
    case timeline(CallChoice)
    /// The users with whom a user has had a call, the newest first, among at most `limit` newest calls in each role.
    case peers(UserID, limit: Int)
    /// A call whose log is still kept, with it.
    case log(CallNumber)
}

/// Which call is meant, where a name may be in use with several people and is used again: the newest one that fits.
public struct CallChoice: Equatable, Sendable {
    /// Its name.
    public var id: CallID
    /// Who takes part: nobody in particular, one user, or two.
    public var users: [UserID]
    /// Which use of the name; `nil` = any.
    public var epoch: UInt32?
    /// Who asks: a call that is kept from this user, by a block or because its name was taken, is left out; `nil` = an operator.
    public var viewer: UserID?

    /// A choice of all its parts.
    public init(_ id: CallID, of users: [UserID] = [], epoch: UInt32? = nil, seenBy viewer: UserID? = nil) {
        self.id = id
        self.viewer = viewer
        self.users = users
        self.epoch = epoch
    }

    /// Whether a call is one of those.
    public func fits(_ call: CallRecord) -> Bool {
        call.id == id && epoch ?? call.epoch == call.epoch
            && users.allSatisfy { call.caller == $0 || call.callee == $0 }
            && viewer.map { call.concerns($0) } ?? true
    }
}

extension CallRecord {
    /// Whether a user may know of the call: its caller may, and its callee unless a block or a taken name keeps it from them.
    public func concerns(_ user: UserID) -> Bool {
        caller == user || callee == user && hidden != .block && hidden != .nameTaken
    }
}

/// What a store answers.
public enum Answer: Equatable, Sendable {
    /// To ``Question/history(_:limit:before:)``.
    case history([CallRecord])
    /// To ``Question/timeline(_:)``; `nil` when there is no such call.
    case timeline(CallRecord?, [TimelineRecord])
    /// To ``Question/peers(_:limit:)``.
    case peers([UserID])
    /// To ``Question/log(_:)``; `nil` when there is no such call, or its log is forgotten.
    indirect case log(StoredCall?)
    /// The question failed.
    case failed(StoreFailure)
}

/// What a store holds when it is opened.
public struct StoredState: Equatable, Sendable {
    /// Calls whose log is still kept, with it, oldest first.
    public var calls: [StoredCall] = []
    /// Every device.
    public var devices: [DeviceRecord] = []
    /// Every block: who is blocked by whom.
    public var blocks: [BlockRecord] = []
    /// Who is not to be disturbed until when.
    public var doNotDisturb: [UserID: Moment] = [:]
    /// Up to which moment of issue whose tokens are refused.
    public var revocations: [UserID: Moment] = [:]
    /// The newest epoch of every name that is no UUID, also of calls whose log is forgotten.
    public var epochs: [CallKey: UInt32] = [:]
    /// The highest call number ever given; 0 when none was.
    public var lastCallNumber: Int64 = 0
    /// When the newest call in the history began; `nil` when there is none.
    public var lastCallAt: Moment?
    /// How many times the store was opened without having been closed in good order before.
    ///
    /// Counted since ``Change/crashesForgotten``; a clean stop changes nothing about it.
    public var crashes: Int = 0
    /// The values that cannot be: what is above holds none of them.
    public var damages: [DamagedValue] = []

    /// An empty store.
    public init() {}
}

/// A call with its log.
public struct StoredCall: Equatable, Sendable {
    /// The call.
    public var record: CallRecord
    /// Its log, in `seq` order.
    public var entries: [EntryRecord]

    /// A call with its log.
    public init(record: CallRecord, entries: [EntryRecord]) {
        self.record = record
        self.entries = entries
    }
}

/// Who is blocked by whom.
public struct BlockRecord: Hashable, Sendable {
    /// The one who blocks.
    public var by: UserID
    /// The one who is blocked.
    public var blocked: UserID
    /// Since when.
    public var at: Moment

    /// `by` blocked `blocked` at a moment.
    public init(by: UserID, blocked: UserID, at: Moment) {
        self.by = by
        self.blocked = blocked
        self.at = at
    }
}
