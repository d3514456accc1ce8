package import CallWire
import Glibc
import LibWebSockets
package import Testing

/// Waits for a condition, by default five seconds at most; returns whether it holds.
package func wait(seconds: Double = 5, for condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end {
        if condition() { return true }
        usleep(1_000)
    }
    return condition()
}

/// Returns a port on which no process listens.
package func unusedPort() throws -> Int {
    var configuration = ServerConfiguration()
    configuration.host = "127.0.0.1"
    return try Server(configuration: configuration).port
}

/// Returns a text as a frame that can be sent.
package func frame(_ text: String) -> Frame { Frame(text.utf8) }

/// Waits for a condition; records an issue and throws if it does not hold in time.
package func eventually(
    _ what: String,
    within seconds: Double = 20,
    at place: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let limit = ContinuousClock.now + .seconds(seconds)
    while try await !condition() {
        guard ContinuousClock.now < limit else {
            Issue.record("it did not happen within \(seconds) s that \(what)", sourceLocation: place)
            throw CancellationError()
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}
