import CallCore

/// Keeps the user's bearer token.
///
/// However many requests need a new one, it asks the token source once.
@MainActor
final class TokenCache {
    /// The shortest time between two renewals, so that a backend whose tokens the server refuses is not asked without a pause.
    static let renewalPause = Moment.Duration.seconds(5)
    /// The longest pause before the source is asked again after a failure.
    static let longestPause = Moment.Duration.seconds(300)

    private let source: any TokenSource
    private let clock: any KitClock
    private var token: String?
    private var refused: String?
    private var isAsking = false
    private var isRenewing = false
    private var renewedAt: Moment?
    private var failures = 0
    private var pendingUses: [(String?) -> Void] = []

    /// When to ask the source again; `nil` = there is no need.
    private(set) var retryAt: Moment?
    /// Called with the error's text when the source has failed and ``retryAt`` has changed.
    var missing: (String) -> Void = { _ in }
    /// Called with each fresh token that was asked for after a refusal.
    var renewed: () -> Void = {}

    init(_ source: any TokenSource, _ clock: any KitClock) {
        self.source = source
        self.clock = clock
    }

    /// Calls a function with the token, at once if it is known; with `nil` if the source failed.
    func use(_ work: @escaping (String?) -> Void) {
        if let token { return work(token) }
        // After a failure, each request would ask again; until the pause is over they fail at once, and the core sends
        // them again later.
        if retryAt != nil, !isAsking { return work(nil) }
        pendingUses.append(work)
        fetch()
    }

    /// Drops the token, which the server has refused, and asks for another one.
    func renew() {
        refused = token ?? refused
        token = nil
        isRenewing = true
        if let renewedAt, clock.now < renewedAt + Self.renewalPause, clock.now >= renewedAt {
            retryAt = renewedAt + Self.renewalPause
        } else {
            fetch()
        }
    }

    /// Asks the source, unless it is being asked.
    func fetch() {
        guard !isAsking else { return }
        isAsking = true
        retryAt = nil
        let refused = refused
        Task {
            do { received(try await source.token(refused: refused)) } catch { failed(String(describing: error)) }
        }
    }

    private func received(_ fresh: String) {
        guard fresh != refused else { return failed("the token source returned the token that the server refused") }
        isAsking = false
        failures = 0
        token = fresh
        release(fresh)
        guard isRenewing else { return }
        isRenewing = false
        renewedAt = clock.now
        renewed()
    }

    private func failed(_ text: String) {
        isAsking = false
        failures = min(failures + 1, 9)
        retryAt = clock.now + min(Self.longestPause, .seconds(1 << Int64(failures)))
        release(nil)
        missing(text)
    }

    private func release(_ token: String?) {
        let released = pendingUses
        pendingUses = []
        for work in released { work(token) }
    }
}
