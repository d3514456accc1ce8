import CallCore

/// The newest epoch of each name that may be used again long after, remembered as long as the history and a little longer.
///
/// Names are sorted by when they were last used into spans of time, and a span goes whole when all in it are old: nothing is walked from end
/// to end.
struct Epochs {
    /// Into how many spans the history's time is divided.
    private static let spans: Int64 = 4

    private let span: Moment.Span
    private let keptFor: Moment.Span
    /// The names last used from a moment on, oldest span first; never empty.
    private var used: [(from: Moment, epochs: [CallKey: UInt32])]

    init(_ stored: [CallKey: UInt32], keptFor: Moment.Span, at now: Moment) {
        self.keptFor = keptFor
        span = Moment.Span(milliseconds: max(1, keptFor.milliseconds / Self.spans))
        // When they were used is not known here: no longer ago than now.
        used = [(now, stored)]
    }

    var count: Int { used.reduce(0) { $0 + $1.epochs.count } }

    /// The newest epoch of a name.
    subscript(key: CallKey) -> UInt32? {
        for span in used.reversed() { if let epoch = span.epochs[key] { return epoch } }
        return nil
    }

    /// Takes note that a name is used.
    mutating func use(_ epoch: UInt32, of key: CallKey, at now: Moment) {
        if let newest = used.last, now >= newest.from + span { used.append((now, [:])) }
        used[used.count - 1].epochs[key] = epoch
    }

    /// Forgets the spans whose names were all last used longer ago than the history reaches.
    mutating func forgetOld(at now: Moment) {
        while used.count > 1, used[1].from + keptFor <= now { used.removeFirst() }
        if used.count == 1, used[0].from + span + keptFor <= now { used[0] = (now, [:]) }
    }
}
