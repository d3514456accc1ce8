/// Decides, when Google refuses the access token in use, whether the token or one message is at fault.
///
///                refused                        refused for a second device
///     in use ───────────────▶ fresh, in doubt ───────────────────────────────▶ none, for a while
///       ▲                        │ accepted             ▲ fetched                    │
///       │ expired                ▼                      └────────────────────────────┘
///       └───────────────── fresh, accepted ──(refused for one device)──▶ that message is at fault
///
/// Google refuses some messages with the status of a bad token: those to an app whose own credentials it finds bad, for
/// instance. A pause then would keep all other devices from ringing. If on the other hand every push fetched a token,
/// 500 rings would cause 500 requests.
struct TokenTrust {
    /// The consequence of a refusal.
    enum Verdict: Equatable {
        /// The token is old, or others are refused as well: fetch another.
        case replace
        /// The token is good: others were sent with it a moment ago.
        case messageIsAtFault
        /// The token may be good: the push waits until then, by the steady clock, while others are sent.
        case wait(until: Int64)
        /// The token is bad, as the one before it was: nothing is sent until then, by the steady clock.
        case pause(until: Int64)
    }

    /// The first pause, in milliseconds; each further one in a row is twice as long.
    static let firstPause: Int64 = 10_000
    /// The longest pause, in milliseconds: meanwhile no Android device rings.
    static let longestPause: Int64 = 60_000

    /// Whether the token was fetched because Google had refused the one before.
    private var isFresh = false
    /// Whether Google has accepted the token.
    private var isAccepted = false
    /// When the token was fetched, by the steady clock.
    private var fetchedAt: Int64 = 0
    /// The push token for which the access token was refused first, since it was last accepted.
    private var refusedFor: String?
    /// Whether the next token is fetched because of a refusal.
    private var isReplacing = false
    /// The number of fresh tokens that Google has refused since it last accepted one.
    private var refusedTokens = 0

    /// Records that another token is in use.
    mutating func fetched(at now: Int64) {
        (isFresh, isAccepted, fetchedAt, refusedFor) = (isReplacing, false, now, nil)
    }

    /// Records that Google has accepted the token.
    mutating func accepted() {
        (isAccepted, refusedFor, isReplacing, refusedTokens) = (true, nil, false, 0)
    }

    /// Records that Google has refused the token for a device; returns what follows.
    mutating func refused(for device: String, at now: Int64) -> Verdict {
        let isAlone = refusedFor == nil || refusedFor == device
        refusedFor = refusedFor ?? device
        let pause = min(Self.firstPause << Int64(min(refusedTokens, 8)), Self.longestPause)
        let age = now - fetchedAt
        if isFresh, isAccepted {
            if age < (isAlone ? Self.longestPause : Self.firstPause) { return .messageIsAtFault }
        } else if isFresh, isAlone, age < pause {
            return .wait(until: fetchedAt + pause)
        }
        isReplacing = true
        guard isFresh, !isAccepted else { return .replace }
        refusedTokens += 1
        return isAlone ? .replace : .pause(until: now + pause)
    }
}
