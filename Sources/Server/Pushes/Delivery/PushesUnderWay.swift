import CallCore
import CallPorts
import OutboundHTTP
import ServerLog
import Threads

/// The pushes of one sender that have no result yet: each of them gets exactly one report.
///
/// A push may need several HTTP requests one after the other, such as a second one with a renewed token. A push that was
/// cancelled gets no further request.
package final class PushesUnderWay: Sendable {
    /// How long the response to an HTTP request is waited for, in milliseconds; then the push is reported, and can be sent
    /// again while the call rings.
    package static let responseMilliseconds: Int64 = 10_000

    /// A push under way.
    private struct UnderWay {
        let push: OutgoingPush
        /// The number of HTTP requests so far.
        var requests = 0
        /// The last request; `nil` until it is known.
        var request: HTTPRequestID?
        var isCancelled = false
    }

    private let pushes = Monitor<[PushID: UnderWay]>([:])
    /// Sends the requests.
    let client: HTTPClient
    private let words: PushWords
    private let log: ServerLog
    private let report: @Sendable (PushID, PushResult) -> Void

    /// Creates an empty set.
    ///
    /// - Parameters:
    ///   - client: sends the requests.
    ///   - words: the words of the log.
    ///   - log: the log; push tokens are cut to their first six characters, and a browser's endpoint is left out.
    ///   - report: called exactly once for each push. The closure must only pass the result on, such as to the event loop.
    init(
        _ client: HTTPClient,
        _ words: PushWords,
        log: ServerLog,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) {
        self.client = client
        self.words = words
        self.log = log
        self.report = report
    }

    /// Begins with a push; its id must be new.
    func begin(_ push: OutgoingPush) {
        let isNew = pushes.withLock { $0.updateValue(UnderWay(push: push), forKey: push.id) == nil }
        precondition(isNew, "a push was sent twice under one id")
        log.debug(
            words.sent,
            fields(of: push) + [.pushKind(ServerText(push.route.kind)), .pushBytes(push.payload.count)]
        )
    }

    /// Sends a request for a push, unless the push was cancelled.
    ///
    /// If no response comes, the push is finished as unreachable or cancelled. `respond` is called on the client's thread.
    func post(
        _ push: OutgoingPush,
        _ request: HTTPRequest,
        respond: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        let number = pushes.withLock { pending -> Int? in
            guard pending[push.id]?.isCancelled == false else { return nil }
            pending[push.id]?.request = nil
            pending[push.id]?.requests += 1
            return pending[push.id]?.requests
        }
        guard let number else { return finish(push, .cancelled) }
        let id = client.send(request) { [self] outcome in
            switch outcome {
            case .success(let response): respond(response)
            case .failure(.cancelled): finish(push, .cancelled)
            case .failure(.privateAddress): finish(push, .impossible(.privateAddress))
            case .failure(let failure): finish(push, .unreachable(failure.description))
            }
        }
        // The request may already have an outcome. Then its push is no longer here, or is at its next request.
        let mustCancel = pushes.withLock { pending in
            guard pending[push.id]?.requests == number else { return false }
            pending[push.id]?.request = id
            return pending[push.id]?.isCancelled ?? false
        }
        if mustCancel { client.cancel(id, onlyIfUnsent: true) }
    }

    /// Cancels a push that has not been sent on a connection yet.
    ///
    /// A push that was sent continues until its response comes, and gets no further request. `waits`: Whether the push
    /// waits for something before its request; it is then finished at once.
    func cancel(_ id: PushID, waits: Bool = false) {
        let (push, request) = pushes.withLock { pending in
            pending[id]?.isCancelled = true
            return (pending[id]?.push, pending[id]?.request)
        }
        if waits {
            if let push { finish(push, .cancelled) }
        } else if let request {
            client.cancel(request, onlyIfUnsent: true)
        }
    }

    /// Logs an attempt's result at `debug`, and reports it; does nothing if the push has its result already.
    func finish(_ push: OutgoingPush, _ result: PushResult) {
        guard pushes.withLock({ $0.removeValue(forKey: push.id) != nil }) else { return }
        let fields = fields(of: push)
        switch result {
        case .response(let status, let reason, _), .deferred(let status, let reason, _):
            log.debug(
                words.responded,
                fields + [.pushStatus(status), reason.map { .pushReason(UntrustedText($0)) }]
            )
        case .unreachable(let why): log.debug("a push got no response", fields + [.error(UntrustedText(why))])
        case .notSent(let why): log.debug("a push was not sent", fields + [.error(UntrustedText(why))])
        case .impossible(let fault):
            log.debug("a push cannot be sent", fields + [.error(UntrustedText(fault.rawValue))])
        case .cancelled, .onlyLogged: log.debug("a push was cancelled", fields)
        }
        report(push.id, result)
    }

    private func fields(of push: OutgoingPush) -> [LogField?] {
        push.logFields
            + [
                // An endpoint begins with the same letters everywhere.
                push.route.kind == .web ? nil : .pushToken(PushTokenStart(push.route.token)),
                push.route.environment.map { .environment(ServerText($0)) },
            ]
    }
}

extension OutgoingPush {
    /// The fields that every log line about the push has.
    var logFields: [LogField?] { [.push(id.rawValue), call.map { .call($0) }, device.map { .device($0) }] }
}
