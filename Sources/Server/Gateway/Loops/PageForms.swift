import CallCore
import CallPorts
import LibWebSockets
import Threads

/// How the client of a request wants a page of the call directory.
///
/// The loop that received the request keeps it: the owner of the calls, perhaps another node, sends every page whole.
struct PageForm: Sendable {
    private let acceptsGzip: Bool
    private let knownTags: EntityTags?

    /// Reads the wishes of a request; `nil` = it is not for a page of the call directory, or has none.
    init?(_ head: RequestHead) {
        guard head.path == Operation.directoryPath, head.acceptEncoding != nil || head.ifNoneMatch != nil else {
            return nil
        }
        acceptsGzip = head.acceptEncoding.map(AcceptedCodings.includeGzip) ?? false
        knownTags = head.ifNoneMatch.map(EntityTags.init)
    }

    /// Whether the client has the page of this response already.
    func isKnown(_ response: Response) -> Bool {
        guard response.status == 200, let tag = response.headers.first(where: { $0.name == "ETag" })?.value else {
            return false
        }
        return knownTags?.matches(tag) ?? false
    }

    /// Whether to compress the response; a small one fits in a packet or two anyway.
    func isCompressed(_ response: Response) -> Bool {
        acceptsGzip && response.status == 200 && response.body.count >= 1_024
    }
}

extension Response {
    /// The response to a client that has the page already (RFC 9110, section 15.4.5).
    var notModified: Response { Response(status: 304, headers: headers) }
}

/// Compresses pages of the call directory on a thread of its own.
///
/// Compressing one takes milliseconds, in which a loop relays hundreds of signals.
final class PageCompressor: Sendable {
    private struct Page: Sendable {
        let response: Response
        let respond: @Sendable (Response) -> Void
    }

    /// The bytes of pages that may wait; above that, pages are sent as they are.
    private static let mostWaiting = 8 << 20

    private let inbox = Inbox<Page>(limit: mostWaiting)
    /// The thread, which begins with the first page: most servers have no call directory.
    private let thread = Monitor<WorkThread?>(nil)

    /// Compresses a response, and passes it to `respond` on the compressor's thread.
    ///
    /// - Returns: `false` if too many pages wait or there is no thread: send the response as it is.
    func compress(_ response: Response, _ respond: @escaping @Sendable (Response) -> Void) -> Bool {
        let hasThread = thread.withLock { thread in
            // Without a thread, the response is sent uncompressed.
            if thread == nil { thread = try? WorkThread(named: "gzip") { [inbox] in Self.serve(inbox) } }
            return thread != nil
        }
        return hasThread && inbox.put(Page(response: response, respond: respond), weight: response.body.count)
    }

    /// Ends the thread.
    func end() {
        inbox.close()
        thread.withLock { $0 }?.join()
    }

    private static func serve(_ inbox: Inbox<Page>) {
        while let next = inbox.takeAll() {
            for page in next.elements {
                var response = page.response
                if let body = Gzip.compress(response.body) {
                    response.body = body
                    response.headers.append(.init("Content-Encoding", "gzip"))
                }
                page.respond(response)
            }
        }
    }
}
