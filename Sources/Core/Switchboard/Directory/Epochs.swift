import CallCore

/// The newest epoch of each callId that may be used again after its calls can no longer be fetched; an epoch is kept a
/// little longer than the history.
///
/// The callIds are divided into spans of time by their last use. A span is discarded as a whole when all its callIds
/// are old, so that no list is searched from end to end.
///
/// An app may give each call a callId of its own that is no UUID, and there may be a million of them a day. So only the
/// hash of a key is kept, which has eight bytes and not a hundred. If two keys had the same hash, the epochs of the one
/// would skip numbers, which does no harm.
///
/// Nothing is read at a start: the store is asked for the epoch of a callId that is used for the first time since then.
struct Epochs {
    private let span: Moment.Duration
    private let keptFor: Moment.Duration
    /// One element per span, oldest first, with the epochs of the callIds last used in it; never empty.
    private var used: [(from: Moment, epochs: [Int: UInt32])]

    init(keptFor: Moment.Duration, at now: Moment) {
        self.keptFor = keptFor
        span = Moment.Duration(milliseconds: max(1, keptFor.milliseconds / SwitchboardLimits.epochSpans))
        used = [(now, [:])]
    }

    var count: Int { used.reduce(0) { $0 + $1.epochs.count } }

    /// The newest epoch of a callId with a pair of users; `nil` = none is remembered.
    subscript(key: CallKey) -> UInt32? {
        let name = key.hashValue
        for span in used.reversed() { if let epoch = span.epochs[name] { return epoch } }
        return nil
    }

    /// Records the use of a callId.
    mutating func use(_ epoch: UInt32, of key: CallKey, at now: Moment) {
        if let newest = used.last, now >= newest.from + span { used.append((now, [:])) }
        used[used.count - 1].epochs[key.hashValue] = epoch
    }

    /// Discards the spans whose callIds were all last used longer ago than the history reaches.
    mutating func forgetOld(at now: Moment) {
        while used.count > 1, used[1].from + keptFor <= now { used.removeFirst() }
        if used.count == 1, used[0].from + span + keptFor <= now { used[0] = (now, [:]) }
    }
}
