package import CallCore

/// An event in a call that helps to explain why a device did, or did not, ring (protocol, section 5.7).
///
/// The switches of this file have no default: a new event does not compile until its name, its details and its audience
/// are chosen.
package enum TimelineEvent: Equatable, Sendable {
    /// A device's signal was logged under this `seq`.
    case signal(SignalKind, from: Side, device: DeviceID, seq: UInt64)
    /// The call is a ring of the user's schedule, for the time `occurrence` of the schedule; `ring` counts from 1.
    case scheduled(ScheduleID, occurrence: Moment, ring: Int)
    /// The ring of ``scheduled(_:occurrence:ring:)`` did not begin.
    case ringSkipped(SkippedRing)
    /// The call is hidden from its callee, who has blocked the caller.
    case blocked
    /// The call is hidden from its callee, who has blocked the phone number that the offer shows.
    case numberBlocked
    /// The callee has set do-not-disturb, before the call or while the call rang.
    case doNotDisturb
    /// The call is hidden from its callee, who has a live call under the same callId with another user;
    /// stored as `name_taken`.
    case callIDTaken
    /// The app's backend was asked about the offer, and this was the outcome after that time; the code is the backend's
    /// for a refusal.
    case decided(DecisionOutcome, code: String?, after: Moment.Duration)
    /// So many other callers ring the callee that the call was refused; stored as `crowded`.
    case tooManyCallers
    /// The callee had neither a connection nor a device with a push token.
    case noDevice
    /// The offer was sent to a device's connection.
    case delivered(DeviceID)
    /// A device fetched the call.
    case fetched(DeviceID)
    /// A device was reached, but its system does not show the call.
    case silenced(DeviceID, Silence)
    /// A device's connection was pinged, to learn whether the connection is dead.
    case probe(DeviceID)
    /// A device's connection did not answer its ping.
    case probeFailed(DeviceID)
    /// A push was handed to the push service; the environment is `nil` unless it is APNs.
    case pushSent(DeviceID, Push, APNsEnvironment?)
    /// The result of a push came: the service's status and reason or, without a status, the reason why there was no
    /// response.
    case pushResult(DeviceID, status: Int?, reason: String?, Push, APNsEnvironment?)
    /// A push was cancelled before it was sent.
    case pushCancelled(DeviceID)
    /// A device reported that its push came with normal priority, although it was sent with high priority.
    case pushLowered(DeviceID)
    /// The tokens of that side's user were revoked; stored as `logged_out`.
    case tokensRevoked(Side)
    /// The server was restarted while the call was live.
    case restarted
    /// The node with this address, which other nodes can reach, took over the live call; follows ``restarted``.
    case takenOver(node: String)
    /// After this call, a further ring by the user `from` was refused because of a limit; `count` = the number of
    /// rings that the limit has refused since this call.
    case ringRefused(RingLimit, from: UserID, count: Int)
    /// An event of a device was repeated `count` times.
    case repeated(Repeatable, DeviceID, count: Int)
    /// The timeline is full, and that many events were left out.
    case omitted(count: Int)
    /// The call ended.
    case ended(EndReason)
    /// An event that was read from a store and that this version does not write; `details` are the members of a JSON
    /// object, without the braces.
    case other(name: String, details: String)

    /// The purpose of a push.
    package enum Push: Equatable, Sendable {
        /// A push of that kind for the call.
        case ring(PushKind)
        /// A notice of a missed call.
        case missed
        /// A notice that follows the push for the call, because another device has answered or the call is over.
        case over

        /// The word that is stored and shown: that of the kind, `missed` or `over`.
        package var rawValue: String {
            switch self {
            case .ring(let kind): kind.rawValue
            case .missed: "missed"
            case .over: "over"
            }
        }

        /// Reads the word; `nil` if it is none.
        package init?(rawValue: String) {
            switch rawValue {
            case "missed": self = .missed
            case "over": self = .over
            default:
                guard let kind = PushKind(rawValue: rawValue) else { return nil }
                self = .ring(kind)
            }
        }

        /// The kind of a push that rings; `nil` = a notice.
        package var kind: PushKind? { if case .ring(let kind) = self { kind } else { nil } }
    }

    /// The reason why a ring of a schedule did not begin.
    package enum SkippedRing: String, Sendable, CaseIterable {
        /// The server could not ring within 60 seconds of the time: it was not running, could not write its database,
        /// or did not trust its clock.
        case late
        /// The user's schedules had rung too often.
        case limit
        /// The user's quota of stored bytes was used up.
        case quota
        /// The user had confirmed before.
        case confirmed
    }

    /// A limit that refuses rings.
    package enum RingLimit: String, Sendable, CaseIterable {
        /// Rings of one caller to one callee.
        case perPair = "rings_per_pair"
        /// Rings of one callee by all callers.
        case perCallee = "rings_per_callee"
    }

    /// An event that a device can cause any number of times, by connecting or by requests.
    package enum Repeatable: String, Sendable, CaseIterable {
        /// See ``TimelineEvent/delivered(_:)``.
        case delivered = "delivered.socket"
        /// See ``TimelineEvent/probe(_:)``.
        case probe
        /// See ``TimelineEvent/probeFailed(_:)``.
        case probeFailed = "probe.failed"
        /// See ``TimelineEvent/fetched(_:)``.
        case fetched
    }

    /// The readers of an event in addition to services and operators, who see every event.
    package enum Audience: Sendable {
        /// Services and operators only.
        case operators
        /// The callee.
        case callee
        /// The caller and the callee.
        case both
    }

    /// The readers who may see the event.
    ///
    /// The caller must learn nothing of blocks, of do-not-disturb and of the callee's devices. The callee must learn
    /// nothing of calls that are hidden from them.
    package var audience: Audience {
        switch self {
        case .signal, .scheduled, .restarted, .ended: .both
        case .doNotDisturb, .tooManyCallers, .noDevice, .delivered, .fetched, .probe, .probeFailed, .pushSent,
            .pushResult, .pushCancelled, .pushLowered, .silenced, .ringRefused, .ringSkipped, .repeated, .omitted:
            .callee
        case .takenOver, .blocked, .numberBlocked, .callIDTaken, .decided, .tokensRevoked, .other: .operators
        }
    }

    /// The name of the event, as the protocol and the store have it.
    package var name: String {
        switch self {
        case .signal(let kind, _, _, _): kind == .offer ? "offer" : "signal.\(kind.rawValue)"
        case .scheduled: "scheduled"
        case .blocked: "blocked"
        case .numberBlocked: "blocked"
        case .doNotDisturb: "dnd"
        case .callIDTaken: "name_taken"
        case .decided: "decided"
        case .tooManyCallers: "crowded"
        case .noDevice: "no_device"
        case .delivered: Repeatable.delivered.rawValue
        case .fetched: Repeatable.fetched.rawValue
        case .silenced: "device.silenced"
        case .probe: Repeatable.probe.rawValue
        case .probeFailed: Repeatable.probeFailed.rawValue
        case .pushSent: "push.sent"
        case .pushResult: "push.result"
        case .pushCancelled: "push.cancelled"
        case .pushLowered: "push.lowered"
        case .tokensRevoked: "logged_out"
        case .restarted: "restarted"
        case .takenOver: "taken_over"
        case .ringRefused: "ring.refused"
        case .ringSkipped: "ring.skipped"
        case .repeated: "repeated"
        case .omitted: "omitted"
        case .ended: "ended"
        case .other(let name, _): name
        }
    }

    /// The value of a detail of an event; each detail becomes a member of a JSON object.
    package enum Detail: Equatable, Sendable {
        /// A word that needs no escape in JSON: an id, or a word of the protocol.
        case word(String)
        /// Any text.
        case text(String)
        /// A number.
        case number(UInt64)
    }

    /// Calls `body` with the name and the value of each detail, in the order in which they are written.
    ///
    /// For ``other(name:details:)`` it does not call `body`, because the details are JSON text already.
    package func forEachDetail(_ body: (_ name: String, Detail) -> Void) {
        switch self {
        case .signal(_, let side, let device, let seq):
            body("side", .word(side.rawValue))
            body("device", .word(device.text))
            body("seq", .number(seq))
        case .delivered(let device), .fetched(let device), .probe(let device), .probeFailed(let device),
            .pushCancelled(let device), .pushLowered(let device):
            body("device", .word(device.text))
        case .silenced(let device, let why):
            body("device", .word(device.text))
            body("why", .word(why.rawValue))
        case .pushSent(let device, let push, let environment):
            body("device", .word(device.text))
            body("kind", .word(push.rawValue))
            if let environment { body("environment", .word(environment.rawValue)) }
        case .pushResult(let device, let status, let reason, let push, let environment):
            body("device", .word(device.text))
            if let status { body("status", .number(UInt64(max(0, status)))) }
            if let reason { body("reason", .text(reason)) }
            body("kind", .word(push.rawValue))
            if let environment { body("environment", .word(environment.rawValue)) }
        case .scheduled(let id, let occurrence, let ring):
            body("schedule", .word(id.text))
            body("occurrence", .number(UInt64(max(0, occurrence.milliseconds))))
            body("ring", .number(UInt64(max(0, ring))))
        case .ringSkipped(let why): body("why", .word(why.rawValue))
        case .tokensRevoked(let side): body("side", .word(side.rawValue))
        case .takenOver(let node): body("node", .text(node))
        case .ringRefused(let limit, let caller, let count):
            body("limit", .word(limit.rawValue))
            body("from", .word(caller.text))
            body("count", .number(UInt64(max(0, count))))
        case .repeated(let event, let device, let count):
            body("device", .word(device.text))
            body("of", .word(event.rawValue))
            body("count", .number(UInt64(max(0, count))))
        case .omitted(let count): body("count", .number(UInt64(max(0, count))))
        case .ended(let reason): body("reason", .word(reason.rawValue))
        case .decided(let outcome, let code, let waited):
            body("outcome", .word(outcome.rawValue))
            if let code { body("code", .word(code)) }
            body("milliseconds", .number(UInt64(max(0, waited.milliseconds))))
        // Without the number: an operator need not know it, and the timeline is stored for long.
        case .numberBlocked: body("by", .word("number"))
        case .blocked, .doNotDisturb, .callIDTaken, .tooManyCallers, .noDevice, .restarted, .other: break
        }
    }
}

extension TimelineEvent {
    /// The number of bytes that a store needs for the event's name and details, not counting escapes.
    package var byteCount: Int {
        var count = name.utf8.count
        if case .other(_, let details) = self { return count + details.utf8.count }
        var isFirst = true
        forEachDetail { name, detail in
            // `"name":` and a comma, except before the first member.
            count += name.utf8.count + (isFirst ? 3 : 4)
            isFirst = false
            switch detail {
            case .word(let text), .text(let text): count += text.utf8.count + 2
            case .number(let number): count += Self.digits(of: number)
            }
        }
        return count
    }

    private static func digits(of number: UInt64) -> Int {
        var (count, rest) = (1, number / 10)
        while rest > 0 { (count, rest) = (count + 1, rest / 10) }
        return count
    }
}

extension TimelineRecord {
    /// The event of a log entry; `nil` for a change of state, whose cause has an event of its own.
    package init?(_ entry: LogEntry) {
        guard case .signal(let kind, let side, let device, _, _) = entry.content else { return nil }
        self.init(at: entry.at, event: .signal(kind, from: side, device: device.id, seq: entry.seq))
    }
}
