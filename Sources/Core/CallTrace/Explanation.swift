package import CallCore
package import CallPorts
import CallWire
import JSON

/// An explanation why a call rang, or did not: the call's ladder as text, and a verdict in plain words.
///
/// It is made from stored records alone, so that a call can be explained while the server runs and while it is stopped.
/// It contains no description, no candidate and no address.
package struct Explanation: Sendable {
    /// The call.
    package let record: CallRecord
    /// The events of the call, oldest first.
    let events: [Event]
    /// The callee's registered devices.
    let devices: [DeviceRecord]
    /// The moment at which the explanation is requested.
    let now: Moment
    /// The source of the records: a running server may have newer events than the records show.
    let source: RecordSource
    /// The names by which the reader knows users and devices.
    let names: CallNames
    /// The devices that pushes have woken, if the push service has told.
    let woken: [Woken]

    /// The source of the records that an explanation is made from.
    package enum RecordSource: Sendable {
        /// The database of a running server.
        case server
        /// The database of a server that was stopped or killed.
        case noServer
        /// A back-up of the database.
        case copy
    }

    /// One event of the timeline, with its position among all events of the call.
    struct Event {
        let position: Int
        let at: Moment
        let event: TimelineEvent

        /// The side that the event concerns.
        var side: Side? {
            switch event {
            case .signal(_, let side, _, _), .tokensRevoked(let side): side
            case .scheduled, .ringSkipped, .blocked, .numberBlocked, .doNotDisturb, .callIDTaken, .decided,
                .tooManyCallers, .noDevice, .delivered, .fetched, .probe, .probeFailed, .silenced, .pushSent,
                .pushResult,
                .pushCancelled, .pushLowered, .restarted, .takenOver, .ringRefused, .repeated, .omitted, .ended, .other:
                nil
            }
        }

        /// The id of the device that the event concerns.
        var device: String? {
            switch event {
            case .signal(_, _, let device, _), .delivered(let device), .fetched(let device), .probe(let device),
                .probeFailed(let device), .pushSent(let device, _, _), .pushResult(let device, _, _, _, _),
                .pushCancelled(let device), .pushLowered(let device), .silenced(let device, _),
                .repeated(_, let device, _):
                device.text
            case .scheduled, .ringSkipped, .blocked, .numberBlocked, .doNotDisturb, .callIDTaken, .decided,
                .tooManyCallers, .noDevice, .tokensRevoked, .restarted, .takenOver, .ringRefused, .omitted, .ended,
                .other:
                nil
            }
        }

        /// The kind of the signal, if the event is one.
        var signal: SignalKind? { if case .signal(let kind, _, _, _) = event { kind } else { nil } }

        /// The purpose of the push, if the event is a sent push or the result of a push.
        var push: TimelineEvent.Push? {
            switch event {
            case .pushSent(_, let push, _), .pushResult(_, _, _, let push, _): push
            default: nil
            }
        }

        /// Whether the event concerns a push after the ringing, which rings no device.
        var isForNotice: Bool { push == .missed || push == .over }

        var isPushSent: Bool { if case .pushSent = event { true } else { false } }
        var isPushResult: Bool { if case .pushResult = event { true } else { false } }
        var isPushCancelled: Bool { if case .pushCancelled = event { true } else { false } }
        var isProbe: Bool { if case .probe = event { true } else { false } }
        /// Whether the event says that another run of the server, or another node, goes on with the call.
        var isRestart: Bool {
            switch event {
            case .restarted, .takenOver: true
            default: false
            }
        }
        var isProbeFailed: Bool { if case .probeFailed = event { true } else { false } }
        var isSilenced: Bool { if case .silenced = event { true } else { false } }
        var isDelivered: Bool { if case .delivered = event { true } else { false } }

        /// Whether the event shows that a device of the callee had contact with the server.
        var isSignOfLife: Bool {
            switch event {
            case .signal(_, let side, _, _): side != .caller
            case .fetched, .delivered, .silenced: true
            default: false
            }
        }
    }

    /// An explanation of a stored call.
    ///
    /// `events`: The call's timeline.
    /// `log`: The call's log; empty if it is no longer stored.
    /// `devices`: The callee's registered devices.
    /// `names`: The names by which the reader knows users and devices.
    /// `woken`: The devices that pushes have woken, oldest first.
    /// `now`: The time of the wall clock.
    package init(
        record: CallRecord,
        events: [TimelineRecord],
        log: [EntryRecord],
        devices: [DeviceRecord],
        recordsFrom source: RecordSource = .server,
        names: CallNames = CallNames(),
        woken: [Woken] = [],
        at now: Moment
    ) {
        self.record = record
        let all = log.compactMap { TimelineRecord($0.entry) } + events
        let order = all.indices.sorted { (all[$0].at, $0) < (all[$1].at, $1) }
        self.events = order.enumerated().map { Event(position: $0, at: all[$1].at, event: all[$1].event) }
        self.devices = devices
        self.now = now
        self.source = source
        self.names = names
        self.woken = woken
    }

    /// The whole explanation: the call, its ladder, the verdict.
    package var text: String { "\(title)\n\n\(ladder.text)\n\(verdict)\n" }

    /// The parts of ``text``, for a reader that shows them while the call goes on.
    package var parts: (title: String, ladder: String, verdict: String) { (title, ladder.text, verdict) }

    /// The call, its users, its time and its outcome.
    var title: String {
        "Call \(record.id.text), epoch \(record.epoch): \(who), \(Timestamp.text(record.startedAt)): \(briefOutcome)"
    }

    /// The caller, as the reader knows them.
    var caller: String { names.user(record.caller) }
    /// The callee, as the reader knows them.
    var callee: String { names.user(record.callee) }

    /// Who calls whom.
    var who: String {
        // A scheduled call has no media.
        guard record.scheduled == nil else { return "the server rings \(callee) as \(caller)" }
        let name = names.has(record.caller) ? "" : record.displayName.map { " (\($0.printable))" } ?? ""
        return "\(caller)\(name) calls \(callee), \(record.hasVideo ? "video" : "audio")"
    }

    /// How the call ended or, if it has not ended, in which state it is: in a word or two.
    var briefOutcome: String {
        if record.hidden == .refusedOffer { return "refused" }
        guard let endedAt = record.endedAt, let reason = record.reason else {
            return record.answeredAt == nil ? "ringing" : "answered"
        }
        let word = reason.rawValue.map { $0 == "_" ? " " : String($0) }.joined()
        guard let answeredAt = record.answeredAt else { return word }
        let duration = Ladder.inWords(endedAt - answeredAt)
        return reason == .hangup ? "answered, \(duration)" : "answered, \(word) after \(duration)"
    }

    /// Returns a moment as an offset from the offer: `+0.21 s`.
    func offset(_ moment: Moment) -> String { "+" + Self.seconds(moment - record.startedAt) }

    /// Returns a duration in seconds with two decimals or, from a minute on, in words.
    static func seconds(_ duration: Moment.Duration) -> String {
        guard duration.milliseconds < 60_000 else { return Ladder.inWords(duration) }
        let hundredths = (duration.milliseconds + 5) / 10
        let rest = String(hundredths % 100)
        return "\(hundredths / 100).\(rest.count < 2 ? "0" : "")\(rest) s"
    }
}
