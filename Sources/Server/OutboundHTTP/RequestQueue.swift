import CCurl
import Threads

/// One request as the client's loop receives it.
struct QueuedRequest: Sendable {
    let id: HTTPRequestID
    let host: String
    let request: HTTPRequest
    let deadline: ContinuousClock.Instant
    let completion: @Sendable (HTTPClient.Outcome) -> Void
}

/// A command from another thread to the loop; commands are taken in the order in which they were posted.
enum Command: Sendable {
    case start(QueuedRequest)
    case cancel(HTTPRequestID, onlyIfUnsent: Bool)
    /// The name of a host was looked up; there are no addresses if it cannot be resolved.
    case lookedUp(host: String, addresses: [String])
    /// Call a closure at a moment.
    case call(at: ContinuousClock.Instant, @Sendable () -> Void)
    case stop(by: ContinuousClock.Instant)
}

/// The only state that the client's thread shares with others: the commands, and the number of waiting requests.
///
/// The queue holds the multi handle so that other threads can wake the loop: `curl_multi_wakeup` is the one call of the
/// multi interface that any thread may make. The queue does not use the handle after the loop has closed the queue.
final class RequestQueue: Sendable {
    private struct State {
        var waiting: [String: Int] = [:]
        var waitingInAll = 0
        var lastID: UInt64 = 0
        var isStopping = false
        var figures = HTTPClientFigures()
        /// The number of times that the loop called ``take()``.
        var iterations: UInt64 = 0
    }

    /// libcurl's multi handle; outside the loop it is used for `curl_multi_wakeup` only, which is thread-safe.
    nonisolated(unsafe) let multi: UnsafeMutableRawPointer
    private let waitingPerHost: Int
    private let waitingInAll: Int
    private let commands = Inbox<Command>()
    private let state = Monitor(State())

    init(waitingPerHost: Int, waitingInAll: Int) throws(HTTPClientError) {
        guard let pointer = curl_multi_init() else {
            throw .libraryUnusable("it cannot create a multi handle (curl_multi_init)")
        }
        multi = pointer
        self.waitingPerHost = waitingPerHost
        self.waitingInAll = waitingInAll
        nonisolated(unsafe) let handle = pointer
        commands.setWakeFunction {
            // The call fails only for an invalid handle or a full wake-up pipe, and a full pipe wakes the loop anyway.
            _ = curl_multi_wakeup(handle)
        }
    }

    func nextID() -> HTTPRequestID {
        state.withLock { state in
            state.lastID += 1
            return HTTPRequestID(rawValue: state.lastID)
        }
    }

    /// Accepts a request and returns nil, or returns the reason for which the request is refused.
    func post(_ queued: QueuedRequest) -> HTTPFailure? {
        state.withLock { state in
            guard !state.isStopping else { return .shutDown }
            let waiting = state.waiting[queued.host, default: 0]
            guard waiting < waitingPerHost, state.waitingInAll < waitingInAll else { return .queueFull }
            state.waiting[queued.host] = waiting + 1
            state.waitingInAll += 1
            // The inbox is still open: `close()` sets `isStopping` under this lock before it closes the inbox.
            commands.put(.start(queued))
            return nil
        }
    }

    func post(cancel id: HTTPRequestID, onlyIfUnsent: Bool) {
        commands.put(.cancel(id, onlyIfUnsent: onlyIfUnsent))
    }

    /// Calls a closure on the loop's thread at a moment, unless the client is shut down before.
    func post(_ body: @escaping @Sendable () -> Void, at moment: ContinuousClock.Instant) {
        commands.put(.call(at: moment, body))
    }

    /// Passes the result of a look-up on.
    func post(_ addresses: [String], of host: String) { commands.put(.lookedUp(host: host, addresses: addresses)) }

    /// Asks the loop to end by this moment; the first call decides the moment.
    func stop(by moment: ContinuousClock.Instant) {
        state.withLock { state in
            guard !state.isStopping else { return }
            state.isStopping = true
            commands.put(.stop(by: moment))
        }
    }

    /// The number of requests that wait to be started.
    var waitingCount: Int { state.withLock { $0.waitingInAll } }

    /// The numbers of requests and hosts, at most a second old.
    var figures: HTTPClientFigures { state.withLock { $0.figures } }

    /// The number of iterations of the loop.
    var iterations: UInt64 { state.withLock { $0.iterations } }

    // MARK: The loop's side

    /// Returns the commands posted since the last call.
    func take() -> [Command] {
        state.withLock { $0.iterations += 1 }
        return commands.take().elements
    }

    /// Records that a request to this host no longer waits: it was started or has failed.
    func countDone(_ host: String) {
        state.withLock { state in
            state.waitingInAll -= 1
            let waiting = state.waiting[host, default: 1] - 1
            state.waiting[host] = waiting > 0 ? waiting : nil
        }
    }

    /// Records that a request to this host, which was handed over, waits again.
    func countAgain(_ host: String) {
        state.withLock { state in
            state.waitingInAll += 1
            state.waiting[host, default: 0] += 1
        }
    }

    /// Publishes the loop's figures.
    func publish(_ figures: HTTPClientFigures) { state.withLock { $0.figures = figures } }

    /// Closes the queue for good and returns the commands posted since the last ``take()``.
    func close() -> [Command] {
        state.withLock { state in
            state.isStopping = true
            commands.setWakeFunction(nil)
            commands.close()
        }
        return commands.take().elements
    }
}
