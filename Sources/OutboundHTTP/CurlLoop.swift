import CCurl
import DequeModule

/// The loop of the client's thread: takes commands from the queue, runs libcurl, reports outcomes, and checks
/// deadlines.
///
/// libcurl gets only a limited number of a host's transfers at a time, because it looks at all of its transfers in each
/// round. Deadlines are kept here, because libcurl's own timeout does not run while a transfer waits for the connection
/// of another transfer.
final class CurlLoop {
    private let queue: RequestQueue
    private let multi: UnsafeMutableRawPointer
    private let configuration: HTTPClientConfiguration
    private var waiting: [HTTPRequestID: QueuedRequest] = [:]
    private var hosts: [String: Host] = [:]
    private var open: [HTTPRequestID: Transfer] = [:]
    private var byHandle: [UnsafeMutableRawPointer: HTTPRequestID] = [:]
    private var idleHandles: [EasyHandle] = []
    /// A moment not later than the earliest deadline of all requests; nil if there are no deadlines.
    private var nextDeadline: ContinuousClock.Instant?
    /// The moment by which the loop must end; nil until it is asked to stop.
    private var stopBy: ContinuousClock.Instant?

    /// The largest number of handles kept for later requests; each takes a few KiB.
    private static let idleHandleLimit = 512
    /// The longest wait of the loop.
    private static let longestWait = Duration.seconds(1)

    /// The requests to one host.
    private struct Host {
        /// The waiting requests, oldest first; an id that is no longer in the loop's `waiting` belongs to a request
        /// that has failed meanwhile.
        var queue: Deque<HTTPRequestID> = []
        /// The number of requests under way.
        var open = 0
        /// Whether the last outcome was a response; only used with `firstAloneMilliseconds`.
        ///
        /// A failure of a single HTTP/2 stream does not change the value.
        var isProven = false
        /// The moment until which the first request to the host goes alone.
        var aloneUntil: ContinuousClock.Instant?

        /// Returns whether one more request may be started.
        func hasRoom(_ configuration: HTTPClientConfiguration, at now: ContinuousClock.Instant) -> Bool {
            guard !isProven, let aloneUntil, now < aloneUntil else { return open < configuration.openPerHost }
            return open == 0
        }

        /// Records that a request was started.
        mutating func started(_ configuration: HTTPClientConfiguration, at now: ContinuousClock.Instant) {
            if open == 0, !isProven { aloneUntil = now + .milliseconds(configuration.firstAloneMilliseconds) }
            open += 1
        }
    }

    init(queue: RequestQueue, configuration: HTTPClientConfiguration) {
        self.queue = queue
        self.configuration = configuration
        multi = queue.multi
        ringline_curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        ringline_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.connectionsPerHost)
        ringline_curl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, configuration.openPerHost)
        // The number of idle connections kept; by default libcurl keeps four for each existing transfer.
        ringline_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 64)
    }

    /// Runs until it is asked to stop, then closes everything.
    func run() {
        while true {
            for command in queue.take() { take(command) }
            // Expire first, so that no request goes out after its deadline.
            expire()
            startWaiting()
            var running: CInt = 0
            // The result of the call concerns the multi handle, and can only report a misuse of that handle.
            _ = curl_multi_perform(multi, &running)
            finishDone()
            if let stopBy, (open.isEmpty && waiting.isEmpty) || stopBy <= .now { break }
            var wait = hasRoom ? Duration.zero : Self.longestWait
            for moment in [nextDeadline, stopBy, nextAloneEnd].compactMap({ $0 }) {
                wait = min(wait, max(.zero, moment - .now))
            }
            // The call also returns at libcurl's own timers, socket events and wake-ups. The wait is rounded up to
            // whole milliseconds: with a wait of 0 the loop would turn without a pause until the moment has come.
            _ = curl_multi_poll(multi, nil, 0, CInt((wait / .milliseconds(1)).rounded(.up)), nil)
        }
        close()
    }

    /// Whether a waiting request could be started immediately, because another request has just finished.
    private var hasRoom: Bool {
        let now = ContinuousClock.now
        return hosts.values.contains { !$0.queue.isEmpty && $0.hasRoom(configuration, at: now) }
    }

    /// The earliest moment at which the requests to some host stop waiting for the response to the first request.
    private var nextAloneEnd: ContinuousClock.Instant? {
        hosts.values.filter { !$0.isProven && !$0.queue.isEmpty && $0.open < configuration.openPerHost }
            .compactMap(\.aloneUntil).min()
    }

    private func take(_ command: Command) {
        switch command {
        case .start(let queued):
            waiting[queued.id] = queued
            hosts[queued.host, default: Host()].queue.append(queued.id)
            nextDeadline = min(nextDeadline ?? queued.deadline, queued.deadline)
        case .cancel(let id, let onlyIfUnsent):
            if waiting[id] != nil {
                fail(id, .cancelled(sent: false))
            } else if let transfer = open[id], !(onlyIfUnsent && transfer.isSent) {
                fail(id, .cancelled(sent: transfer.isSent))
            }
        case .stop(let moment): stopBy = moment
        }
    }

    // MARK: Starting

    private func startWaiting() {
        let now = ContinuousClock.now
        for name in hosts.keys {
            guard var host = hosts.removeValue(forKey: name) else { continue }
            var refused: [QueuedRequest] = []
            while host.hasRoom(configuration, at: now), let id = host.queue.popFirst() {
                guard let queued = waiting.removeValue(forKey: id) else { continue }
                queue.countDone(name)
                if start(queued) { host.started(configuration, at: now) } else { refused.append(queued) }
            }
            if host.open > 0 || !host.queue.isEmpty || host.isProven { hosts[name] = host }
            for queued in refused {
                queued.completion(.failure(.invalidRequest("libcurl refused its URL or one of its options")))
            }
        }
    }

    private func start(_ queued: QueuedRequest) -> Bool {
        guard let easy = idleHandles.popLast() ?? EasyHandle() else { return false }
        let transfer = Transfer(queued: queued, easy: easy)
        guard transfer.prepare(configuration), curl_multi_add_handle(multi, easy.pointer) == CURLM_OK else {
            return false
        }
        open[queued.id] = transfer
        byHandle[easy.pointer] = queued.id
        return true
    }

    // MARK: Finishing

    private func finishDone() {
        var left: CInt = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let id = byHandle[handle], let transfer = open[id]
            else { continue }
            // The message belongs to libcurl and is gone once the handle is removed.
            let outcome = transfer.outcome(ringline_curl_message_result(message))
            remove(transfer)
            note(outcome, of: transfer.queued.host)
            transfer.queued.completion(transfer.reported(outcome))
        }
    }

    private func note(_ outcome: HTTPClient.Outcome, of host: String) {
        switch outcome {
        case .success: hosts[host]?.isProven = configuration.firstAloneMilliseconds > 0
        // A failure of one stream tells nothing about the connection.
        case .failure(.streamFailed), .failure(.bodyTooLarge): break
        case .failure: hosts[host]?.isProven = false
        }
    }

    /// Ends a request early, with this failure.
    private func fail(_ id: HTTPRequestID, _ failure: HTTPFailure) {
        if let queued = waiting.removeValue(forKey: id) {
            queue.countDone(queued.host)
            queued.completion(.failure(failure))
        } else if let transfer = open[id] {
            let outcome = transfer.reported(.failure(failure))
            remove(transfer)
            transfer.queued.completion(outcome)
        }
    }

    private func remove(_ transfer: Transfer) {
        let easy = transfer.easy
        open[transfer.queued.id] = nil
        byHandle[easy.pointer] = nil
        hosts[transfer.queued.host]?.open -= 1
        // If the stream is still open, removing the handle resets it (RST_STREAM); the connection stays open.
        _ = curl_multi_remove_handle(multi, easy.pointer)
        // The list of headers is freed with the transfer, so the handle must not point to it.
        easy.setHeaders(nil)
        if idleHandles.count < Self.idleHandleLimit { idleHandles.append(easy) }
    }

    private func expire() {
        let now = ContinuousClock.now
        guard let nextDeadline, nextDeadline <= now else { return }
        let late = waiting.values.filter { $0.deadline <= now }.map(\.id)
        let lateOpen = open.values.filter { $0.queued.deadline <= now }
        for id in late { fail(id, .timedOut(sent: false)) }
        for transfer in lateOpen { fail(transfer.queued.id, .timedOut(sent: transfer.isSent)) }
        let deadlines = [waiting.values.map(\.deadline).min(), open.values.map(\.queued.deadline).min()]
        self.nextDeadline = deadlines.compactMap { $0 }.min()
    }

    private func close() {
        for case .start(let queued) in queue.close() { waiting[queued.id] = queued }
        let left = waiting.values.map { $0 }
        waiting = [:]
        for id in Array(open.keys) { fail(id, .shutDown) }
        for queued in left { queued.completion(.failure(.shutDown)) }
        idleHandles = []
        // This also closes the connections; every easy handle has been removed before.
        _ = curl_multi_cleanup(multi)
    }
}
