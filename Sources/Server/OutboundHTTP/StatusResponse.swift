/// Requests whose response is its status, and perhaps the time after which to repeat them.
extension HTTPRequest {
    /// Prepares for a response whose status counts without its body; `retry-after` is kept.
    ///
    /// A body of more than 64 KiB is not read to its end: over HTTP/1.1 the connection is closed then, and over HTTP/2 the
    /// stream is reset.
    package mutating func expectStatus() {
        bodyLimit = 64 << 10
        needsBody = false
        wantedHeaders = ["retry-after"]
    }
}

extension HTTPResponse {
    /// Returns the time in seconds that `retry-after` names, from now, at most a day; `nil` = the response names none.
    ///
    /// The header must have been wanted. `wall` is the wall clock, in milliseconds since 1970, for a date (RFC 9110, section
    /// 10.2.3).
    package func retryAfterSeconds(wall: Int64) -> Int64? {
        guard let text = header("retry-after") else { return nil }
        // A number may be larger than any integer.
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let seconds = Int64(text) ?? (isNumber ? .max : HTTPDate.seconds(text).map { $0 - wall / 1_000 })
        return seconds.map { min(max(0, $0), 86_400) }
    }
}
