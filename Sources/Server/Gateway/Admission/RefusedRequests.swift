import Threads

/// Counts the requests and upgrades that the server refuses before it looks at their path, by code.
final class RefusedRequests: Sendable {
    // Every code exists from the first scrape on. Otherwise an alert would miss the first increment.
    private let counts = Monitor<[String: UInt64]>(
        Dictionary(
            uniqueKeysWithValues: [
                "bad_request", "bad_handshake", "headers_too_large", "http_version", "length_required", "not_found",
                "request_timeout", "too_large",
            ].map { ($0, 0) }
        )
    )

    /// The numbers of refusals so far.
    var all: [(String, UInt64)] { counts.withLock { $0.map { ($0, $1) } } }

    func count(_ code: String) { counts.withLock { $0[code, default: 0] += 1 } }
}
