import CCurl
import Threads

/// One request as the loop gets it.
struct Order: Sendable {
    let id: HTTPRequestID
    let host: String
    let request: HTTPRequest
    let deadline: Steady
    let completion: @Sendable (HTTPClient.Outcome) -> Void
}

/// What other threads ask of the loop, in the order in which they asked.
enum Command: Sendable {
    case start(Order)
    case cancel(HTTPRequestID, onlyIfUnsent: Bool)
}

/// The only thing that the client's thread shares with others: orders in, and how many of them wait.
///
/// It owns the multi handle as far as others need it, to wake the loop (`curl_multi_wakeup`, the one call of the multi
/// interface that any thread may make), and never touches it after the loop has closed the mailbox.
final class Mailbox: Sendable {
    private struct State {
        var commands: [Command] = []
        var waiting: [String: Int] = [:]
        var waitingInAll = 0
        var lastID: UInt64 = 0
        var stopAt: Steady?
        /// The loop has a wake-up on its way; one is enough for any number of commands.
        var isWaking = false
        var isClosed = false
        /// How often the loop came to take.
        var rounds: UInt64 = 0
    }

    /// libcurl's pointer: used off the loop for `curl_multi_wakeup` only, which is thread-safe.
    struct Multi: @unchecked Sendable { let pointer: UnsafeMutableRawPointer }

    let multi: Multi
    private let waitingPerHost: Int
    private let waitingInAll: Int
    private let state = Locked(State())

    init(waitingPerHost: Int, waitingInAll: Int) throws(HTTPClientError) {
        guard let pointer = curl_multi_init() else { throw .libraryUnusable("it made no multi handle") }
        multi = Multi(pointer: pointer)
        self.waitingPerHost = waitingPerHost
        self.waitingInAll = waitingInAll
    }

    func nextID() -> HTTPRequestID {
        state.withLock { state in
            state.lastID += 1
            return HTTPRequestID(rawValue: state.lastID)
        }
    }

    /// Takes an order in, or says why not.
    func post(_ order: Order) -> HTTPFailure? {
        state.withLock { state in
            guard !state.isClosed, state.stopAt == nil else { return .shutDown }
            let waiting = state.waiting[order.host, default: 0]
            guard waiting < waitingPerHost, state.waitingInAll < waitingInAll else { return .queueFull }
            state.waiting[order.host] = waiting + 1
            state.waitingInAll += 1
            state.commands.append(.start(order))
            wake(&state)
            return nil
        }
    }

    func post(cancel id: HTTPRequestID, onlyIfUnsent: Bool) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.commands.append(.cancel(id, onlyIfUnsent: onlyIfUnsent))
            wake(&state)
        }
    }

    /// Asks the loop to end by then; the first to ask decides when.
    func stop(at moment: Steady) {
        state.withLock { state in
            guard !state.isClosed, state.stopAt == nil else { return }
            state.stopAt = moment
            wake(&state)
        }
    }

    private func wake(_ state: inout State) {
        guard !state.isWaking else { return }
        state.isWaking = true
        // Its only failures are a broken handle and a full wake-up pipe, and a full pipe wakes.
        _ = curl_multi_wakeup(multi.pointer)
    }

    /// How many orders wait to be started.
    var waitingCount: Int { state.withLock { $0.waitingInAll } }

    /// How often the loop has gone round.
    var rounds: UInt64 { state.withLock { $0.rounds } }

    // MARK: The loop's side

    /// Everything asked since the last call, and by when the loop is to end.
    func take() -> (commands: [Command], stopAt: Steady?) {
        state.withLock { state in
            state.isWaking = false
            state.rounds += 1
            let commands = state.commands
            state.commands.removeAll(keepingCapacity: true)
            return (commands, state.stopAt)
        }
    }

    /// An order of this host no longer waits: it was started or has failed.
    func left(_ host: String) {
        state.withLock { state in
            state.waitingInAll -= 1
            let waiting = state.waiting[host, default: 1] - 1
            state.waiting[host] = waiting > 0 ? waiting : nil
        }
    }

    /// Ends it: nothing is taken in any more; what came in since the last ``take()`` is handed out for the last time.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            defer { state.commands = [] }
            return state.commands
        }
    }
}
