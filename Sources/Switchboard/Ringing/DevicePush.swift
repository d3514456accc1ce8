import CallCore

/// Waking one device for one call: at most one push is accepted, however often it is tried.
///
///                 order          200
///     (start) ───────────▶ sent ──────▶ accepted
///                ▲           │ no answer, 429, 5xx
///                │ retryAt   ▼
///                └──────── waiting         sent ──(other error)──▶ refused
struct DevicePush: Equatable {
    enum Phase: Equatable {
        /// Handed to the push service; leads to every other phase.
        case sent(PushID)
        /// Will be tried again then; leads to `sent`.
        case waiting(until: Moment)
        /// APNs took it. Nothing more is sent.
        case accepted
        /// It cannot be delivered. Nothing more is sent.
        case refused
        /// The call no longer rings. Nothing more is sent.
        case cancelled
    }

    private(set) var phase: Phase
    /// How often it was tried.
    private(set) var attempts = 1
    /// Which service is asked.
    private(set) var environment: APNsEnvironment
    /// Whether the other service was tried already.
    private var triedOther = false

    init(sent id: PushID, environment: APNsEnvironment) {
        phase = .sent(id)
        self.environment = environment
    }

    var retryAt: Moment? { if case .waiting(let until) = phase { until } else { nil } }

    mutating func sent(_ id: PushID) {
        phase = .sent(id)
        attempts += 1
    }

    mutating func cancel() -> PushID? {
        defer { if phase != .accepted && phase != .refused { phase = .cancelled } }
        if case .sent(let id) = phase { return id }
        return nil
    }

    /// What follows from a push's result.
    enum Verdict: Equatable { case accepted, retry, tryOther, refused, ignore }

    mutating func take(_ result: PushResult, for id: PushID, at now: Moment) -> Verdict {
        if case .answered(200, _, _) = result, phase == .cancelled {
            phase = .accepted
            return .accepted
        }
        guard phase == .sent(id) else { return .ignore }
        switch result {
        case .answered(200, _, _):
            phase = .accepted
            return .accepted
        case .answered(400, "BadDeviceToken", _) where !triedOther:
            triedOther = true
            environment = environment.other
            phase = .waiting(until: now)
            return .tryOther
        case .answered(429, _, _), .answered(500, _, _), .answered(503, _, _), .unreachable:
            // 0.25 s, 0.5 s, 1 s, … (protocol, section 6): the ring's end stops it.
            let exponent = min(attempts - 1, 5)
            phase = .waiting(until: now + .milliseconds(250 << Int64(exponent)))
            return .retry
        case .answered, .onlyLogged:
            phase = .refused
            return .refused
        case .cancelled:
            phase = .cancelled
            return .ignore
        }
    }
}
