import CCurl

/// The loop of the client's thread: takes commands from the queue, runs libcurl, reports outcomes, and checks
/// deadlines.
///
/// The schedule decides when libcurl gets which request. Deadlines are kept here, because libcurl's own timeout does
/// not run while a transfer waits for the connection of another transfer.
final class CurlLoop {
    let queue: RequestQueue
    private let multi: UnsafeMutableRawPointer
    let configuration: HTTPClientConfiguration
    private let lookups: NameLookups
    /// Which requests run, and which wait.
    var schedule: RequestSchedule
    private var waiting: [HTTPRequestID: QueuedRequest] = [:]
    private var open: [HTTPRequestID: Transfer] = [:]
    private var byHandle: [UnsafeMutableRawPointer: HTTPRequestID] = [:]
    private var idleHandles: [EasyHandle] = []
    /// The requests that were handed to libcurl in this turn, in order.
    private var handedOver: [HTTPRequestID] = []
    /// A moment not later than the earliest deadline of all requests; nil if there are no deadlines.
    private var nextDeadline: ContinuousClock.Instant?
    /// The closures to call, and when.
    private var calls: [(at: ContinuousClock.Instant, body: @Sendable () -> Void)] = []
    /// The moment by which the loop must end; nil until it is asked to stop.
    private var stopBy: ContinuousClock.Instant?
    /// The next publication of the figures.
    private var figuresDueAt = ContinuousClock.now

    /// The largest number of handles kept for later requests; each takes a few KiB.
    private static let idleHandleLimit = 512
    /// The longest wait of the loop.
    private static let longestWait = Duration.seconds(1)

    init(queue: RequestQueue, configuration: HTTPClientConfiguration) {
        self.queue = queue
        self.configuration = configuration
        schedule = RequestSchedule(configuration)
        lookups = NameLookups(threads: configuration.connecting, lookUp: configuration.lookUp) { name, addresses in
            queue.post(addresses, of: name)
        }
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
            for command in queue.take() { carryOut(command) }
            makeCalls()
            // Expire first, so that no request goes out after its deadline.
            expire()
            startWaiting()
            var running: CInt = 0
            // The result of the call concerns the multi handle, and can only report a misuse of that handle.
            _ = curl_multi_perform(multi, &running)
            finishDone()
            takeBackBlocked()
            publishFigures()
            if let stopBy, (open.isEmpty && waiting.isEmpty) || stopBy <= .now { break }
            // Another request may be able to start, because one was sent or has finished.
            let hasMore = startWaiting()
            var wait = hasMore ? Duration.zero : Self.longestWait
            let moments = [nextDeadline, stopBy, schedule.nextMoment, calls.map(\.at).min()]
            for moment in moments.compactMap({ $0 }) {
                wait = min(wait, max(.zero, moment - .now))
            }
            // The call also returns at libcurl's own timers, socket events and wake-ups. The wait is rounded up to
            // whole milliseconds: with a wait of 0 the loop would turn without a pause until the moment has come.
            _ = curl_multi_poll(multi, nil, 0, CInt((wait / .milliseconds(1)).rounded(.up)), nil)
        }
        close()
    }

    private func carryOut(_ command: Command) {
        let now = ContinuousClock.now
        switch command {
        case .start(let queued):
            waiting[queued.id] = queued
            schedule.add(
                queued.id,
                to: queued.host,
                hasName: name(of: queued) != nil,
                of: queued.request.user,
                isToKnownHost: queued.request.isToKnownHost,
                at: now
            )
            nextDeadline = min(nextDeadline ?? queued.deadline, queued.deadline)
        case .cancel(let id, let onlyIfUnsent):
            if waiting[id] != nil {
                fail(id, .cancelled(sent: false))
            } else if let transfer = open[id], !(onlyIfUnsent && transfer.isSent) {
                fail(id, .cancelled(sent: transfer.isSent))
            }
        case .lookedUp(let host, let addresses):
            for id in schedule.lookedUp(host, addresses, at: now) { failWaiting(id, .nameNotResolved) }
        case .call(let moment, let body): calls.append((moment, body))
        case .stop(let moment): stopBy = moment
        }
    }

    private func makeCalls() {
        let now = ContinuousClock.now
        let due = calls.filter { $0.at <= now }
        guard !due.isEmpty else { return }
        calls.removeAll { $0.at <= now }
        for call in due { call.body() }
    }

    /// Returns the name that is looked up for a request; nil if its host is an address, or a proxy resolves the name.
    private func name(of queued: QueuedRequest) -> String? {
        let scheme = queued.request.url.hasPrefix("https") ? "https" : "http"
        let mayHaveProxy = configuration.usesProxyFromEnvironment && queued.request.addresses != .ownNetworkOnly
        guard !(mayHaveProxy && EnvironmentProxy.isNamed(for: scheme)) else { return nil }
        return HostAddress(queued.host)?.lookedUpName
    }

    // MARK: Starting

    /// Does what the schedule says; returns whether a request was handed to libcurl.
    @discardableResult
    private func startWaiting() -> Bool {
        var hasStarted = false
        while let step = schedule.next(at: .now) {
            switch step {
            case .lookUp(let host):
                if let name = HostAddress(host)?.name { lookups.begin(host, name: name) }
            case .start(let id):
                guard let queued = waiting.removeValue(forKey: id) else { continue }
                queue.countDone(queued.host)
                if start(queued) {
                    hasStarted = true
                    handedOver.append(id)
                } else {
                    _ = schedule.finished(id, .failed, at: .now)
                    queued.completion(.failure(.invalidRequest("libcurl refused its URL or one of its options")))
                }
            }
        }
        return hasStarted
    }

    private func start(_ queued: QueuedRequest) -> Bool {
        guard let easy = idleHandles.popLast() ?? EasyHandle() else { return false }
        let transfer = Transfer(queued: queued, easy: easy, loop: self)
        let addresses = schedule.addresses(for: queued.id)
        guard transfer.prepare(configuration, addresses: addresses),
            curl_multi_add_handle(multi, easy.pointer) == CURLM_OK
        else { return false }
        open[queued.id] = transfer
        byHandle[easy.pointer] = queued.id
        return true
    }

    /// Takes back the requests of this turn for which libcurl has no connection.
    ///
    /// They would wait in libcurl's one list for all hosts, and block it. The requests of a host stay if all its open
    /// ones are new: they wait only for that host's connection.
    private func takeBackBlocked() {
        let blocked = handedOver.filter { id in open[id].map { !$0.isSent && !$0.isConnecting } ?? false }
        handedOver = []
        let byHost = Dictionary(grouping: blocked) { open[$0]?.queued.host ?? "" }
        for (host, ids) in byHost where (schedule.hosts[host]?.window.open ?? 0) > ids.count {
            for id in ids {
                guard let transfer = open[id] else { continue }
                detach(transfer)
                wait(transfer.queued)
            }
            schedule.takeBack(ids)
        }
    }

    private func wait(_ queued: QueuedRequest) {
        waiting[queued.id] = queued
        queue.countAgain(queued.host)
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
            detach(transfer)
            if transfer.isDenied, !transfer.isSent {
                schedule.denied(id)
                wait(transfer.queued)
                continue
            }
            note(outcome, of: transfer)
            transfer.queued.completion(transfer.reported(outcome))
        }
    }

    /// Tells the schedule how a request ended, and fails the waiting requests that the schedule drops for it.
    private func finish(_ id: HTTPRequestID, _ ending: RequestSchedule.Ending, _ failure: HTTPFailure) {
        for other in schedule.finished(id, ending, at: .now) { failWaiting(other, failure) }
    }

    private func note(_ outcome: HTTPClient.Outcome, of transfer: Transfer) {
        switch outcome {
        case .success(let response):
            finish(transfer.queued.id, .response(isMultiplexed: response.version >= .http2), .shutDown)
        case .failure(let failure):
            finish(transfer.queued.id, transfer.isSent ? failure.endingWhenSent : failure.endingWhenUnsent, failure)
        }
    }

    /// Ends a request early, with this failure.
    private func fail(_ id: HTTPRequestID, _ failure: HTTPFailure) {
        if waiting[id] != nil {
            _ = schedule.remove(id)
            failWaiting(id, failure)
        } else if let transfer = open[id] {
            let outcome = transfer.reported(.failure(failure))
            detach(transfer)
            note(.failure(failure), of: transfer)
            transfer.queued.completion(outcome)
        }
    }

    /// Fails a waiting request that the schedule has dropped.
    private func failWaiting(_ id: HTTPRequestID, _ failure: HTTPFailure) {
        guard let queued = waiting.removeValue(forKey: id) else { return }
        queue.countDone(queued.host)
        queued.completion(.failure(failure))
    }

    /// Takes a request's handle from libcurl.
    private func detach(_ transfer: Transfer) {
        let easy = transfer.easy
        open[transfer.queued.id] = nil
        byHandle[easy.pointer] = nil
        // If the stream is still open, removing the handle resets it (RST_STREAM); the connection stays open.
        _ = curl_multi_remove_handle(multi, easy.pointer)
        // The lists are freed with the transfer, so the handle must not point to them.
        easy.setHeaders(nil)
        easy.setAddresses(nil)
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

    private func publishFigures() {
        let now = ContinuousClock.now
        guard figuresDueAt <= now else { return }
        figuresDueAt = now + Self.longestWait
        queue.publish(schedule.figures(at: now))
    }

    private func close() {
        lookups.close()
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
