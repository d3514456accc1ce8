import CCurl
import Threads

/// An HTTP client on a thread of its own, over libcurl's multi interface (`curl_multi_perform`).
///
/// Requests to one host share a few HTTP/2 connections, which stay open. No call blocks except
/// ``shutdown(limitMilliseconds:)``, and a host that does not respond delays no requests to other hosts. For every
/// request the completion is called exactly once. The call is made on the client's thread, where the completion must
/// not block. If the request is refused immediately (queue full, bad request, shut down), the completion is called on
/// the caller's thread before ``send(_:completion:)`` returns.
///
/// libcurl may repeat a request on a new connection by itself, up to five times. It does so when the server refused the
/// stream unprocessed (REFUSED_STREAM, GOAWAY), or when a kept connection ended before any byte of a response came. A
/// request that is lost in another way fails, and its sender has to repeat it. So it should do no harm if the server
/// gets a request twice.
package final class HTTPClient: Sendable {
    /// The outcome that a request's sender receives.
    package typealias Outcome = Result<HTTPResponse, HTTPFailure>

    private let queue: RequestQueue
    private let thread: WorkThread

    /// Creates a client and starts its thread; throws if libcurl is unusable or the system refuses the thread.
    package init(_ configuration: HTTPClientConfiguration = .init()) throws(HTTPClientError) {
        try CurlLibrary.initialize()
        let queue = try RequestQueue(
            waitingPerHost: configuration.waitingPerHost,
            waitingInAll: configuration.waitingInAll
        )
        self.queue = queue
        do throws(WorkThread.Refused) {
            thread = try WorkThread(named: configuration.threadName) {
                CurlLoop(queue: queue, configuration: configuration).run()
            }
        } catch {
            curl_multi_cleanup(queue.multi)
            throw .noThread
        }
    }

    deinit { shutdown(limitMilliseconds: 0) }

    /// Sends a request and returns immediately; may be called from any thread.
    @discardableResult
    package func send(_ request: HTTPRequest, completion: @escaping @Sendable (Outcome) -> Void) -> HTTPRequestID {
        let id = queue.nextID()
        let deadline = ContinuousClock.now + .milliseconds(max(0, request.timeoutMilliseconds))
        if let fault = request.fault {
            completion(.failure(.invalidRequest(fault)))
        } else if let refusal = queue.post(
            QueuedRequest(id: id, host: request.host, request: request, deadline: deadline, completion: completion)
        ) {
            completion(.failure(refusal))
        }
        return id
    }

    /// Cancels a request: its completion gets ``HTTPFailure/cancelled(sent:)``, unless it has already got an outcome.
    ///
    /// With `onlyIfUnsent`, a request that was sent continues, and its response is reported as if it had not been
    /// cancelled. "Sent" means handed to an established connection; a request that still waits or connects is not sent.
    package func cancel(_ id: HTTPRequestID, onlyIfUnsent: Bool = false) {
        queue.post(cancel: id, onlyIfUnsent: onlyIfUnsent)
    }

    /// Calls a closure on the client's thread, where it must not block, after a time; not at all if the client is shut down
    /// before.
    package func call(afterMilliseconds milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
        queue.post(body, at: .now + .milliseconds(milliseconds))
    }

    /// The number of requests of all hosts that wait to be started.
    package var waitingCount: Int { queue.waitingCount }

    /// The numbers of requests and hosts, at most a second old.
    package var figures: HTTPClientFigures { queue.figures }

    /// The number of iterations of the thread's loop; with nothing to do it rises by about one a second.
    var iterations: UInt64 { queue.iterations }

    /// Shuts the client down and waits for its thread to end.
    ///
    /// The client accepts no more requests, and gives the accepted ones at most this long to finish. It fails the rest
    /// with ``HTTPFailure/shutDown``, and closes the connections. A second call does nothing.
    ///
    /// Within a completion, the call cannot wait for its own thread, so it returns immediately.
    package func shutdown(limitMilliseconds: Int64 = 5_000) {
        queue.stop(by: .now + .milliseconds(max(0, limitMilliseconds)))
        thread.join()
    }
}

extension HTTPRequest {
    /// The `scheme://host:port` of the URL; requests with the same value share connections and a queue.
    var host: String {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        return String(url[..<(url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)])
    }

    /// The fault of the request; nil if it is valid.
    var fault: String? {
        if !url.hasPrefix("https://") && !url.hasPrefix("http://") { return "its URL is neither https: nor http:" }
        if !url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) { return "its URL has a character that a URL cannot have" }
        if method.isEmpty || !method.utf8.allSatisfy(HTTPHeader.isToken) { return "its method is not an HTTP token" }
        if let header = headers.first(where: { !$0.isSendable }) {
            return
                "the header \(header.name.utf8.allSatisfy(HTTPHeader.isToken) ? header.name : "without a proper name") cannot be sent"
        }
        return nil
    }
}
