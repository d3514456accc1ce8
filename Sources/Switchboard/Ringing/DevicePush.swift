import CallCore
import CallPorts

/// The push that wakes one device for one call; it may be tried several times, until APNs has accepted it once.
///
///                 send           200
///     (start) ───────────▶ sent ──────▶ accepted
///                ▲           │ no response, 429, 5xx, the first BadDeviceToken (then the other environment)
///                │ moment    ▼
///                └──────── waiting         sent ──(any other error)──▶ refused
///
/// Every phase but `accepted` and `refused` leads to `cancelled` when the call no longer rings.
struct DevicePush: Equatable {
    enum Phase: Equatable {
        /// The push was handed to the push service; leads to every other phase.
        case sent(PushID)
        /// The push will be tried at that moment; leads to `sent`.
        case waiting(until: Moment)
        /// APNs accepted the push. Nothing more is sent.
        case accepted
        /// The push cannot be delivered. Nothing more is sent.
        case refused
        /// The call no longer rings. Nothing more is sent, but APNs may still report that it accepted a push under way.
        case cancelled
    }

    private(set) var phase: Phase
    /// The kind of push that rings this device: an alert if it has no VoIP token, or if VoIP pushes have no effect.
    let kind: OutgoingPush.Kind
    /// The number of attempts.
    private(set) var attempts: Int
    /// The push token that is tried.
    private(set) var token: String
    /// The APNs environment that is tried.
    private(set) var environment: APNsEnvironment
    /// When the push was last handed to the push service.
    private(set) var sentAt: Moment
    /// Whether there was no response to an attempt, which APNs may have accepted nevertheless.
    private var hasLostResponse = false
    /// Whether the push token was refused in one environment, and so is tried in the other one.
    private var triedOther = false

    /// A push that is sent now.
    init(sent id: PushID, kind: OutgoingPush.Kind, token: String, environment: APNsEnvironment, at now: Moment) {
        phase = .sent(id)
        self.kind = kind
        self.token = token
        self.environment = environment
        sentAt = now
        attempts = 1
    }

    /// A push that is sent at `moment` unless its device connects before: used after a restart while the call rings.
    init(waitingUntil moment: Moment, kind: OutgoingPush.Kind, token: String, environment: APNsEnvironment) {
        phase = .waiting(until: moment)
        self.kind = kind
        self.token = token
        self.environment = environment
        sentAt = moment
        attempts = 0
    }

    /// A push whose result was known before a restart.
    init(settled phase: Phase) {
        self.phase = phase
        kind = .voip
        token = ""
        environment = .production
        sentAt = Moment(milliseconds: 0)
        attempts = 1
    }

    /// Whether the device may have the push: APNs has accepted it, or a response of APNs was lost.
    var mayHaveArrived: Bool { phase == .accepted || hasLostResponse }

    /// Whether the kind of the push is known; it is not if its result was known before a restart.
    var isKindKnown: Bool { sentAt.milliseconds > 0 }

    /// When the push is to be tried next; `nil` = no attempt is planned.
    var retryAt: Moment? { if case .waiting(let until) = phase { until } else { nil } }

    /// Switches to `token` and `environment`, if `token` is not the push token that is tried now.
    ///
    /// That the earlier token was refused in one environment says nothing about the new token.
    mutating func take(_ token: String, environment: APNsEnvironment) {
        guard token != self.token else { return }
        self.token = token
        self.environment = environment
        triedOther = false
    }

    mutating func sent(_ id: PushID, at now: Moment) {
        phase = .sent(id)
        sentAt = now
        attempts += 1
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
        /// The push is to be tried in the other environment immediately.
        case tryOther
        /// Both environments report that the push token is bad.
        case tokenIsBad
        /// The push will not be tried again.
        case refused
        /// The result changes nothing.
        case ignore
    }

    mutating func take(_ result: PushResult, for id: PushID, at now: Moment) -> Consequence {
        if case .unreachable = result { hasLostResponse = true }
        if phase == .cancelled, case .response(200, _, _) = result {
            phase = .accepted
            return .accepted
        }
        guard phase == .sent(id) else { return .ignore }
        switch result {
        case .response(200, _, _):
            phase = .accepted
            return .accepted
        case .response(400, "BadDeviceToken", _):
            guard !triedOther else {
                phase = .refused
                return .tokenIsBad
            }
            triedOther = true
            environment = environment.other
            phase = .waiting(until: now)
            return .tryOther
        // A proxy between the server and APNs may respond with 502 or 504, which are as temporary as APNs' 500 and 503.
        case .response(429, _, _), .response(500...599, _, _), .unreachable:
            // 0.25 s, 0.5 s, 1 s, … (protocol, section 6): the retries stop when the ring ends.
            let exponent = min(max(attempts, 1) - 1, 5)
            phase = .waiting(until: now + .milliseconds(250 << Int64(exponent)))
            return .retry
        case .response, .onlyLogged:
            phase = .refused
            return .refused
        case .cancelled:
            phase = .cancelled
            return .ignore
        }
    }
}
