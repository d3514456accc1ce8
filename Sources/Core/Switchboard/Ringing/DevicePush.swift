import CallCore
import CallPorts

/// The push that wakes one device for one call; it may be tried several times, until its push service has accepted it
/// once.
///
///                 send           200, 201, 202
///     (start) ───────────▶ sent ──────▶ accepted
///                ▲           │ no response, 429, 5xx, the first BadDeviceToken (then the other environment),
///                │           │ the first 413 of Web Push (then without the offer)
///                │ moment    ▼
///                └──────── waiting         sent ──(any other error)──▶ refused
///
/// `waiting` also leads to `refused`, when its push token was removed. A `Retry-After` beyond the ring refuses, too.
/// A push that was not even sent is followed by one on another route, if the device has one (``Consequence/useOther``).
/// Every phase but `accepted` and `refused` leads to `cancelled` when the call no longer rings. After `refused`, a push
/// on the next route is a new value.
struct DevicePush: Equatable {
    enum Phase: Equatable {
        /// The push was handed to the push service; leads to every other phase.
        case sent(PushID)
        /// The push will be tried at that moment; leads to `sent` or `refused`.
        case waiting(until: Moment)
        /// The push service accepted the push. Nothing more is sent.
        case accepted
        /// The push cannot be delivered on this route.
        case refused
        /// The call no longer rings. Nothing more is sent, but the service may still report that it accepted a push under
        /// way.
        case cancelled
    }

    private(set) var phase: Phase
    /// The kinds of push that were refused for good before this one.
    let refusedKinds: Set<PushKind>
    /// The kinds of push that could not be sent before this one; they are tried again once no other kind is left.
    let unsentKinds: Set<PushKind>
    /// The route that is tried; `nil` = the result was known before a restart, but not the route.
    private(set) var route: PushRoute?
    /// The number of attempts.
    private(set) var attempts: Int
    /// When the push was last handed to the push service.
    private(set) var sentAt: Moment
    /// Whether there was no response to an attempt, which the push service may have accepted nevertheless.
    private var hasLostResponse = false
    /// Whether the log has the push's failure.
    private var hasFailed = false
    /// Whether the push token was refused in one environment, and so is tried in the other one.
    private var triedOther = false

    /// Whether the push follows a device's absence: it is dropped when the device says that it rings, because the
    /// device was sent the offer on its connection.
    let isForAbsence: Bool

    /// Whether the push goes without the offer's SDP, because the push service found it too large with it.
    private(set) var omitsOffer = false

    /// A push that is sent now.
    ///
    /// `refusedKinds`: The kinds of push that were refused for good before. `unsentKinds`: Those that could not be sent.
    init(
        sent id: PushID,
        by route: PushRoute,
        after refusedKinds: Set<PushKind> = [],
        unsentKinds: Set<PushKind> = [],
        at now: Moment
    ) {
        phase = .sent(id)
        self.refusedKinds = refusedKinds
        self.unsentKinds = unsentKinds
        self.route = route
        sentAt = now
        attempts = 1
        isForAbsence = false
    }

    /// A push that is sent at `moment` unless its device connects before: used after a restart while the call rings, and
    /// if a device has lost its connection.
    init(waitingUntil moment: Moment, for route: PushRoute, isForAbsence: Bool = false) {
        phase = .waiting(until: moment)
        refusedKinds = []
        unsentKinds = []
        self.isForAbsence = isForAbsence
        self.route = route
        sentAt = moment
        attempts = 0
    }

    /// A push whose result was known before a restart.
    init(settled phase: Phase) {
        self.phase = phase
        refusedKinds = []
        unsentKinds = []
        isForAbsence = false
        route = nil
        sentAt = Moment(milliseconds: 0)
        attempts = 1
    }

    /// The kind of push that is tried; `nil` = the result was known before a restart, but not the kind.
    var kind: PushKind? { route?.kind }

    /// Whether the device may have the push: its service has accepted it, or a response was lost.
    var mayHaveArrived: Bool { phase == .accepted || hasLostResponse }

    /// When the next attempt is due; `nil` = none is planned.
    var retryAt: Moment? { if case .waiting(let until) = phase { until } else { nil } }

    /// Switches to a route, unless it has the push token that is tried now.
    ///
    /// That the earlier token was refused in one environment says nothing about the new token. A browser may have
    /// registered new keys for the same endpoint.
    mutating func routeChosen(_ route: PushRoute) {
        let isNew = route.token != self.route?.token
        if isNew || !route.kind.isThroughAPNs { self.route = route }
        if isNew { triedOther = false }
    }

    mutating func sent(_ id: PushID, at now: Moment) {
        phase = .sent(id)
        sentAt = now
        attempts += 1
    }

    /// Records a failure for the log; returns whether it is the push's first one.
    mutating func noteFailure() -> Bool {
        defer { hasFailed = true }
        return !hasFailed
    }

    /// Ends a push that waits for its next attempt, because its push token was refused for another call.
    ///
    /// Returns false if the push does not wait, or not with this push token.
    mutating func refuse(_ token: String) -> Bool {
        guard retryAt != nil, route?.token == token else { return false }
        phase = .refused
        return true
    }

    /// Gives up a route by which the push could not be sent; returns false if the device may have the push already.
    mutating func leaveRoute() -> Bool {
        guard retryAt != nil, !hasLostResponse else { return false }
        phase = .refused
        return true
    }

    /// Cancels the push because the call no longer rings; returns the attempt under way, or `nil` if there is none.
    mutating func cancel() -> PushID? {
        switch phase {
        case .sent(let id):
            phase = .cancelled
            return id
        case .waiting:
            phase = .cancelled
            return nil
        case .accepted, .refused, .cancelled: return nil
        }
    }

    /// The consequence of a push's result.
    enum Consequence: Equatable {
        /// The push was accepted.
        case accepted
        /// The push will be tried again later.
        case retry
        /// The push could not be sent, and will be tried again later if the device has no other route.
        case useOther
        /// Retry in the other environment immediately.
        case tryOther
        /// Retry without the offer immediately.
        case tryShorter
        /// The push service reports that the push token is bad; for APNs, in both environments.
        case tokenIsBad
        /// The push will not be tried again.
        case refused
        /// The result changes nothing.
        case ignore
    }

    /// Takes the result of an attempt; `end` = when ringing stops.
    mutating func attemptEnded(_ result: PushResult, for id: PushID, at now: Moment, until end: Moment) -> Consequence {
        if case .unreachable = result { hasLostResponse = true }
        if phase == .cancelled, result.isAccepted {
            phase = .accepted
            return .accepted
        }
        // The call is over, and its push token is dead all the same.
        if phase == .cancelled, let kind, result.condemnsToken(of: kind) { return .tokenIsBad }
        guard phase == .sent(id) else { return .ignore }
        switch result {
        case .response where result.isAccepted:
            phase = .accepted
            return .accepted
        case .response(400, "BadDeviceToken", _) where route?.environment != nil:
            guard !triedOther, let other = route?.inOtherEnvironment else {
                phase = .refused
                return .tokenIsBad
            }
            triedOther = true
            route = other
            phase = .waiting(until: now)
            return .tryOther
        case .response where kind.map(result.condemnsToken) ?? false:
            phase = .refused
            return .tokenIsBad
        case .response(413, _, _) where kind == .web && !omitsOffer:
            omitsOffer = true
            phase = .waiting(until: now)
            return .tryShorter
        // A proxy between the server and APNs may respond with 502 or 504, which are as temporary as APNs' 500 and 503.
        case .response(429, _, _), .response(500...599, _, _), .unreachable, .notSent:
            phase = .waiting(until: now + pause)
            return if case .notSent = result { .useOther } else { .retry }
        // The service wants no further attempt as long as it rings. After a lost response the device may have the push.
        case .deferred(_, _, let until) where until >= end && !hasLostResponse:
            phase = .refused
            return .refused
        case .deferred(_, _, let until):
            phase = .waiting(until: max(until, now + pause))
            return .retry
        case .response, .impossible, .onlyLogged:
            phase = .refused
            return .refused
        case .cancelled:
            phase = .cancelled
            return .ignore
        }
    }

    /// The pause before the next attempt: 0.25 s, 0.5 s, 1 s, … (protocol, section 6.3).
    ///
    /// The retries stop when the ring ends.
    private var pause: Moment.Duration { Self.pause(after: attempts) }

    /// The pause after this many attempts.
    static func pause(after attempts: Int) -> Moment.Duration {
        .milliseconds(250 << Int64(min(max(attempts, 1) - 1, 5)))
    }
}
