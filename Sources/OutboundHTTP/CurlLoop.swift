import CCurl

/// What the client's thread does: takes orders from the mailbox, lets libcurl work, answers, and looks at deadlines.
///
/// libcurl is given only so many transfers of a host at a time, since each of its rounds looks at all of them. The
/// deadlines are kept here: libcurl's own timeout does not run for a transfer that waits for another's connection.
final class CurlLoop {
    private let mailbox: Mailbox
    private let multi: UnsafeMutableRawPointer
    private let configuration: HTTPClientConfiguration
    private var waiting: [HTTPRequestID: Order] = [:]
    private var hosts: [String: Host] = [:]
    private var open: [HTTPRequestID: Transfer] = [:]
    private var byHandle: [UnsafeMutableRawPointer: HTTPRequestID] = [:]
    private var idleHandles: [EasyHandle] = []
    /// Not later than the earliest deadline of all.
    private var nextDeadline: Steady?

    /// Handles kept for later requests; each is a few KiB.
    private static let idleHandleLimit = 512
    /// The loop looks around at least so often, in milliseconds.
    private static let longestWait: Int64 = 1_000

    /// One host's requests.
    private struct Host {
        /// Those waiting, oldest first; an id that is no longer in the loop's `waiting` was answered meanwhile.
        var queue: [HTTPRequestID] = []
        /// How many at the front of `queue` are done with.
        var taken = 0
        /// How many are under way.
        var open = 0
        /// Whether its last news was an answer.
        var isProven = false
        /// Until when its first request goes alone.
        var aloneUntil: Steady?

        /// Whether one more may be started.
        func hasRoom(_ configuration: HTTPClientConfiguration, at now: Steady) -> Bool {
            guard !isProven, let aloneUntil, now < aloneUntil else { return open < configuration.openPerHost }
            return open == 0
        }

        /// Takes note that one was started.
        mutating func started(_ configuration: HTTPClientConfiguration, at now: Steady) {
            if open == 0, !isProven { aloneUntil = now.advanced(milliseconds: configuration.firstAloneMilliseconds) }
            open += 1
        }

        mutating func next() -> HTTPRequestID? {
            guard taken < queue.count else { return nil }
            defer { taken += 1 }
            return queue[taken]
        }

        /// Drops what is done with, when that is most of it.
        mutating func compact(keeping isWaiting: (HTTPRequestID) -> Bool) {
            guard taken > 64, taken * 2 > queue.count else { return }
            queue = queue[taken...].filter(isWaiting)
            taken = 0
        }
    }

    init(mailbox: Mailbox, configuration: HTTPClientConfiguration) {
        self.mailbox = mailbox
        self.configuration = configuration
        multi = mailbox.multi.pointer
        ringline_curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        ringline_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.connectionsPerHost)
        ringline_curl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, configuration.openPerHost)
        // Idle connections kept; without a number libcurl keeps four for each transfer there is.
        ringline_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 64)
    }

    /// Runs until the mailbox says stop; then closes everything.
    func run() {
        while true {
            let (commands, stopAt) = mailbox.take()
            for command in commands { take(command) }
            // First, so that nothing goes out after its time.
            expire()
            startWaiting()
            var running: CInt = 0
            // What it returns is about the multi handle, and says only that we misused it.
            _ = curl_multi_perform(multi, &running)
            finishDone()
            if let stopAt, (open.isEmpty && waiting.isEmpty) || stopAt <= .now() { break }
            var wait = Self.longestWait
            for moment in [nextDeadline, stopAt, nextAloneEnd].compactMap({ $0 }) {
                wait = min(wait, max(0, moment.milliseconds - Steady.now().milliseconds))
            }
            // It also returns at libcurl's own timers, socket events and wake-ups.
            _ = curl_multi_poll(multi, nil, 0, CInt(clamping: hasRoom ? 0 : wait), nil)
        }
        close()
    }

    /// Whether a request that waits could be started at once (one has just finished).
    private var hasRoom: Bool {
        let now = Steady.now()
        return hosts.values.contains { $0.taken < $0.queue.count && $0.hasRoom(configuration, at: now) }
    }

    /// When the next host that has requests waiting behind its first need not wait for its answer any longer.
    private var nextAloneEnd: Steady? {
        hosts.values.filter { !$0.isProven && $0.taken < $0.queue.count && $0.open < configuration.openPerHost }
            .compactMap(\.aloneUntil).min()
    }

    private func take(_ command: Command) {
        switch command {
        case .start(let order):
            waiting[order.id] = order
            hosts[order.host, default: Host()].queue.append(order.id)
            nextDeadline = min(nextDeadline ?? order.deadline, order.deadline)
        case .cancel(let id, let onlyIfUnsent):
            if waiting[id] != nil {
                fail(id, .cancelled(sent: false))
            } else if let transfer = open[id], !(onlyIfUnsent && transfer.isSent) {
                fail(id, .cancelled(sent: transfer.isSent))
            }
        }
    }

    // MARK: Starting

    private func startWaiting() {
        let now = Steady.now()
        for name in hosts.keys {
            guard var host = hosts.removeValue(forKey: name) else { continue }
            var refused: [Order] = []
            while host.hasRoom(configuration, at: now), let id = host.next() {
                guard let order = waiting.removeValue(forKey: id) else { continue }
                mailbox.left(name)
                if start(order) { host.started(configuration, at: now) } else { refused.append(order) }
            }
            host.compact { waiting[$0] != nil }
            if host.open > 0 || host.taken < host.queue.count || host.isProven { hosts[name] = host }
            for order in refused {
                order.completion(.failure(.invalidRequest("libcurl refused its URL or one of its options")))
            }
        }
    }

    private func start(_ order: Order) -> Bool {
        guard let easy = idleHandles.popLast() ?? EasyHandle() else { return false }
        let transfer = Transfer(order: order, easy: easy)
        guard transfer.prepare(configuration), curl_multi_add_handle(multi, easy.pointer) == CURLM_OK else {
            return false
        }
        open[order.id] = transfer
        byHandle[easy.pointer] = order.id
        return true
    }

    // MARK: Finishing

    private func finishDone() {
        var left: CInt = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let id = byHandle[handle], let transfer = open[id]
            else { continue }
            // The message is libcurl's and gone once the handle is taken out.
            let outcome = transfer.outcome(ringline_curl_message_result(message))
            remove(transfer)
            note(outcome, of: transfer.order.host)
            transfer.order.completion(outcome)
        }
    }

    private func note(_ outcome: HTTPClient.Outcome, of host: String) {
        switch outcome {
        case .success: hosts[host]?.isProven = configuration.firstAloneMilliseconds > 0
        // One stream's trouble says nothing of the connection.
        case .failure(.streamFailed), .failure(.bodyTooLarge): break
        case .failure: hosts[host]?.isProven = false
        }
    }

    /// Ends a request before its time.
    private func fail(_ id: HTTPRequestID, _ failure: HTTPFailure) {
        if let order = waiting.removeValue(forKey: id) {
            mailbox.left(order.host)
            order.completion(.failure(failure))
        } else if let transfer = open[id] {
            remove(transfer)
            transfer.order.completion(.failure(failure))
        }
    }

    private func remove(_ transfer: Transfer) {
        let easy = transfer.easy
        open[transfer.order.id] = nil
        byHandle[easy.pointer] = nil
        hosts[transfer.order.host]?.open -= 1
        // Resets the stream when it is still open (RST_STREAM); the connection stays.
        _ = curl_multi_remove_handle(multi, easy.pointer)
        // The list of headers dies with the transfer: the handle must not point to it.
        easy.setHeaders(nil)
        if idleHandles.count < Self.idleHandleLimit { idleHandles.append(easy) }
    }

    private func expire() {
        let now = Steady.now()
        guard let nextDeadline, nextDeadline <= now else { return }
        let late = waiting.values.filter { $0.deadline <= now }.map(\.id)
        let lateOpen = open.values.filter { $0.order.deadline <= now }
        for id in late { fail(id, .timedOut(sent: false)) }
        for transfer in lateOpen { fail(transfer.order.id, .timedOut(sent: transfer.isSent)) }
        let deadlines = [waiting.values.map(\.deadline).min(), open.values.map(\.order.deadline).min()]
        self.nextDeadline = deadlines.compactMap { $0 }.min()
    }

    private func close() {
        for case .start(let order) in mailbox.close() { waiting[order.id] = order }
        let left = waiting.values.map { $0 }
        waiting = [:]
        for id in Array(open.keys) { fail(id, .shutDown) }
        for order in left { order.completion(.failure(.shutDown)) }
        idleHandles = []
        // Says goodbye on the connections and closes them; every easy handle is out by now.
        _ = curl_multi_cleanup(multi)
    }
}
