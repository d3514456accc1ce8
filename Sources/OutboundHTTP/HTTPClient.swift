import CCurl
import Threads

/// An HTTP client on one thread of its own, over libcurl's multi interface (`curl_multi_perform`).
///
/// Requests to one host share a few HTTP/2 connections, which stay open. No call blocks (but ``shutdown(limitMilliseconds:)``),
/// and a host that does not answer holds up no other. Every request is answered by exactly one call of its completion:
/// on the client's thread, which must not be held up there; or, when it is refused at once (queue full, bad request,
/// shut down), on the caller's before ``send(_:completion:)`` returns.
///
/// libcurl may itself repeat a request on a new connection, up to five times: when the server refused its stream unseen
/// (REFUSED_STREAM, GOAWAY), or a kept connection ended before any byte of an answer came. In other cases such a request
/// fails, and is its sender's to repeat; so what a request does should bear repetition.
public final class HTTPClient: Sendable {
    /// What a request's sender is told.
    public typealias Outcome = Result<HTTPResponse, HTTPFailure>

    private let mailbox: Mailbox
    private let thread: WorkThread

    /// Starts the client's thread; throws when libcurl or the system will not have it.
    public init(_ configuration: HTTPClientConfiguration = .init()) throws(HTTPClientError) {
        try CurlLibrary.ready()
        let mailbox = try Mailbox(
            waitingPerHost: configuration.waitingPerHost,
            waitingInAll: configuration.waitingInAll
        )
        self.mailbox = mailbox
        do throws(WorkThread.Refused) {
            thread = try WorkThread(named: configuration.threadName) {
                CurlLoop(mailbox: mailbox, configuration: configuration).run()
            }
        } catch {
            curl_multi_cleanup(mailbox.multi.pointer)
            throw .noThread
        }
    }

    deinit { shutdown(limitMilliseconds: 0) }

    /// Sends a request and returns at once; may be called from any thread.
    @discardableResult
    public func send(_ request: HTTPRequest, completion: @escaping @Sendable (Outcome) -> Void) -> HTTPRequestID {
        let id = mailbox.nextID()
        let deadline = Steady.now().advanced(milliseconds: max(0, request.timeoutMilliseconds))
        if let fault = request.fault {
            completion(.failure(.invalidRequest(fault)))
        } else if let refusal = mailbox.post(
            Order(id: id, host: request.host, request: request, deadline: deadline, completion: completion)
        ) {
            completion(.failure(refusal))
        }
        return id
    }

    /// Takes a request back: its completion gets ``HTTPFailure/cancelled(sent:)``, unless it was answered before.
    ///
    /// With `onlyIfUnsent` a request that has gone out is left to run, and its answer is reported as if nothing had been
    /// asked. "Gone out" means handed to a standing connection; one that still waits or connects has not.
    public func cancel(_ id: HTTPRequestID, onlyIfUnsent: Bool = false) {
        mailbox.post(cancel: id, onlyIfUnsent: onlyIfUnsent)
    }

    /// How many requests wait to be started, of all hosts.
    public var waitingCount: Int { mailbox.waitingCount }

    /// How often the thread has gone round: it must stand still when there is nothing to do.
    var rounds: UInt64 { mailbox.rounds }

    /// Takes no more requests, lets open ones finish for so long, fails the rest with ``HTTPFailure/shutDown``, closes
    /// the connections and waits for the thread to end.
    ///
    /// A second call does nothing.
    ///
    /// From within a completion it cannot wait for its own thread, and returns at once.
    public func shutdown(limitMilliseconds: Int64 = 5_000) {
        mailbox.stop(at: Steady.now().advanced(milliseconds: max(0, limitMilliseconds)))
        thread.join()
    }
}

extension HTTPRequest {
    /// `scheme://host:port` of the URL: requests with the same share connections, and a queue.
    var host: String {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        return String(url[..<(url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)])
    }

    /// What is wrong with it, if something is.
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
