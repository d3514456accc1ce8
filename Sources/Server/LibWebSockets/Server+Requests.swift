internal import CLibwebsockets
package import CallPorts
internal import CallWire
internal import Glibc

/// HTTP requests and their responses.
extension Server {
    /// Responds to a request, within ``ServerDelegate/requested(_:body:as:)`` or at any time later.
    ///
    /// A second response to a request does nothing, and neither does a response to a peer that is gone.
    package func respond(_ request: RequestID, with response: Response) {
        checkThread()
        guard let slot = table.slot(of: request), table[slot].phase == .pending else { return }
        if table[slot].isDelivering {
            if table[slot].exchange?.response == nil { table[slot].exchange?.response = response }
            return
        }
        guard let wsi = table[slot].wsi else { return }
        if finish(wsi, slot, response) != 0 { abort(slot) }
    }

    // MARK: In

    func requestBegan(_ wsi: OpaquePointer, _ slot: Int) -> Int32 {
        // If the peer took long to read the previous response, the socket is still watched.
        if table[slot].isWatched { unwatch(slot) }
        guard !table[slot].isLastRequest else { return -1 }
        lastSerial = lastSerial == .max ? 1 : lastSerial + 1
        table[slot].serial = lastSerial
        let headers = HeaderReader(wsi: wsi)
        let head = readHead(headers, slot)
        let version = headers.value(WSI_TOKEN_HTTP) ?? ""
        let mayHaveBody = head.method == "POST" || head.method == "PUT" || head.method == "PATCH"
        table[slot].exchange = Exchange(head, closes: !keepsAlive(headers, version: version))
        if let fault = headers.fault {
            return refuse(wsi, slot, fault.refusal, length: fault == .large ? Int.max : 0)
        }
        if let refusal = refusal(of: head, headers, version: version) { return refuse(wsi, slot, refusal, length: 0) }
        if headers.has(WSI_TOKEN_HTTP_TRANSFER_ENCODING) {
            return awaitChunks(wsi, slot, headers, version: version, mayHaveBody: mayHaveBody)
        }
        guard let length = contentLength(headers) else {
            return refuse(wsi, slot, .problem(400, code: "bad_request", message: "invalid Content-Length"), length: 0)
        }
        if length > configuration.maxBodyBytes, let refusal = refusal(ofBody: length, of: head) {
            return refuse(wsi, slot, refusal, length: length)
        }
        if length > 0 { return awaitBody(wsi, slot, headers, length: length) }
        // Without a length, the library would take the bytes after this request for a body of 100 MB. So the connection
        // ends after the response.
        if mayHaveBody, !headers.has(WSI_TOKEN_HTTP_CONTENT_LENGTH) { table[slot].exchange?.closes = true }
        return deliver(wsi, slot)
    }

    /// Returns the refusal of a head that names no path, no version that the server speaks, or not one host.
    private func refusal(of head: RequestHead, _ headers: HeaderReader, version: String) -> Response? {
        // A page's request with an invalid target comes after a preflight with the same target, without which the page
        // would see no more than that the network failed.
        guard !head.path.isEmpty || head.method == "OPTIONS" else { return Self.invalidTarget }
        guard !version.isEmpty else {
            // The library takes a CR or LF in the path for the end of the line, even if it is escaped as %0D. Then the
            // library never reads the version.
            let message = "invalid request line: no HTTP version, or a line break in the path"
            return .problem(400, code: "bad_request", message: message)
        }
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            return .problem(505, code: "http_version", message: "only HTTP/1.1 is supported")
        }
        if headers.isRepeated(WSI_TOKEN_HOST) || (version == "HTTP/1.1" && !headers.has(WSI_TOKEN_HOST)) {
            return .problem(400, code: "bad_request", message: "exactly one Host header is required")
        }
        return nil
    }

    /// Returns the refusal of a body above the general limit; `nil` = the delegate allows this request a larger one.
    func refusal(ofBody length: Int, of head: RequestHead) -> Response? {
        let limit: Int
        switch delegate?.largeBody(of: head) {
        case .limit(let bytes)?: limit = bytes
        case .refusal(let response)?: return response
        case nil: limit = configuration.maxBodyBytes
        }
        guard length > limit else { return nil }
        return .problem(413, code: "too_large", message: "the body may have at most \(limit) bytes")
    }

    private func awaitBody(_ wsi: OpaquePointer, _ slot: Int, _ headers: HeaderReader, length: Int) -> Int32 {
        table[slot].exchange?.expectedBytes = length
        return awaitBytes(wsi, slot, headers)
    }

    /// Begins to read a body, within the callback that brought the request's head.
    func awaitBytes(_ wsi: OpaquePointer, _ slot: Int, _ headers: HeaderReader) -> Int32 {
        table[slot].phase = .body
        bodyDeadlines.add(table.requestID(of: slot), at: loopMilliseconds)
        startDeadlines()
        readBodies.append(table.requestID(of: slot))
        if expectsContinue(headers), !write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), headroom: 0, to: wsi) {
            return -1
        }
        // Set the flag last, and only where the library calls `lws_buflist_next_segment_len` next for this connection.
        // If the flag stayed set, another connection's buffered data would be treated as absent.
        PipelinedBody.isNext = true
        return 0
    }

    /// Whether the client waits for `100 Continue` before it sends the body (it would wait about a second).
    ///
    /// An HTTP/1.0 client does not know that status.
    func expectsContinue(_ headers: HeaderReader) -> Bool {
        headers.value(WSI_TOKEN_HTTP_EXPECT)?.lowercased() == "100-continue"
            && headers.value(WSI_TOKEN_HTTP) == "HTTP/1.1"
    }

    func bodyReceived(_ wsi: OpaquePointer, _ slot: Int, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard table[slot].phase == .body, let exchange = table[slot].exchange else { return 0 }
        if exchange.chunks != nil { return chunksReceived(wsi, slot, exchange, bytes) }
        let missing = exchange.expectedBytes - exchange.body.count
        exchange.body.append(contentsOf: bytes.prefix(missing))
        // libwebsockets 4.3 hands over what comes behind a body in the same packet as more of that body, and never says
        // that the body is complete. So the connection ends after the response, and no byte behind the body is read as
        // a request.
        if bytes.count > missing {
            exchange.closes = true
            table[slot].phase = .complete
        }
        readBodies.append(table.requestID(of: slot))
        return 0
    }

    /// Delivers the requests whose body was completed in this turn, and lifts the library's time limit from the others.
    ///
    /// The library sets that limit for the rest of a body after the callback. It would also limit the time for the
    /// response, and it ends the connection of a client that pauses without a word; `bodyDeadlines` refuse it instead.
    func continueBodies() {
        guard !readBodies.isEmpty else { return }
        let requests = readBodies
        readBodies = []
        for request in requests {
            guard let slot = table.slot(of: request), let wsi = table[slot].wsi else { continue }
            switch table[slot].phase {
            case .complete: if deliver(wsi, slot) != 0 { abort(slot) }
            case .body: lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
            default: break
            }
        }
    }

    func bodyCompleted(_ wsi: OpaquePointer, _ slot: Int) -> Int32 {
        // The library calls this again for every byte that is pipelined after the body.
        guard table[slot].phase == .body, table[slot].exchange?.chunks == nil else { return 0 }
        return deliver(wsi, slot)
    }

    func deliver(_ wsi: OpaquePointer, _ slot: Int) -> Int32 {
        guard let exchange = table[slot].exchange else { return -1 }
        let id = table.id(of: slot)
        let body = exchange.body
        exchange.body = []
        table[slot].phase = .pending
        table[slot].isDelivering = true
        hasWorkedThisTurn = true
        delegate?.requested(
            exchange.head,
            body: body,
            as: table.requestID(of: slot)
        )
        guard table.slot(of: id) == slot, table[slot].phase == .pending else { return -1 }
        table[slot].isDelivering = false
        if let response = table[slot].exchange?.response { return finish(wsi, slot, response) }
        // The delegate may respond as late as it likes, so the 16 KB header block is released meanwhile. After a
        // request with a body the block is kept. Otherwise the library would attach a new block to read on, and would
        // not know that the request's headers were complete.
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
        if exchange.expectedBytes == 0, exchange.chunks == nil { lws_http_headers_detach(wsi) }
        peerWatch.add(lws_get_socket_fd(wsi), id)
        table[slot].isWatched = true
        // From version 4.2 on, the library ends a connection on which bytes come while a response is pending.
        if LibraryContext.endsConnectionsThatPipeline {
            exchange.isHeldBack = true
            holdBack(wsi, id)
        }
        return 0
    }

    private func keepsAlive(_ headers: HeaderReader, version: String) -> Bool {
        // RFC 9110, section 7.6.1: a list, on one line or several, of names in any case.
        let value = headers.value(WSI_TOKEN_CONNECTION)?.lowercased()
        guard !RequestHead.list(value).contains("close") else { return false }
        // Whatever else an HTTP/1.0 client writes beside `keep-alive`, the library ends its connection, and the response
        // must say so.
        return version == "HTTP/1.1" || value == "keep-alive"
    }

    /// Returns the announced length of the body, or 0 without the header; nil if the header is anything but one line of
    /// digits.
    private func contentLength(_ headers: HeaderReader) -> Int? {
        guard !headers.isRepeated(WSI_TOKEN_HTTP_CONTENT_LENGTH) else { return nil }
        guard let text = headers.value(WSI_TOKEN_HTTP_CONTENT_LENGTH) else { return 0 }
        let digits = text.utf8
        guard (1...15).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }

    /// The refusal of a target that ``RequestTarget`` does not accept.
    static let invalidTarget = Response.problem(
        400,
        code: "bad_request",
        message: "invalid address: an invalid escape, a line break, or a part that is . or .."
    )

    // MARK: Out

    /// Refuses a request without reading its body.
    ///
    /// `length` is the number of body bytes that are still to be read and discarded; with 0 the connection ends
    /// immediately.
    func refuse(_ wsi: OpaquePointer, _ slot: Int, _ response: Response, length: Int) -> Int32 {
        guard refuse(wsi, slot, response), length > 0 else { return -1 }
        linger(wsi, slot)
        PipelinedBody.isNext = true
        return 0
    }

    /// Sends a refusal, after which the connection serves no further request.
    func refuse(_ wsi: OpaquePointer, _ slot: Int, _ response: Response) -> Bool {
        let head = table[slot].exchange?.head
        var response = response
        if let head, let problem = response.problem {
            delegate?.refused(head, isUpgrade: false, on: table.id(of: slot), problem)
            response.headers += delegate?.refusalHeaders(for: head) ?? []
        }
        let isHead = head?.method == "HEAD"
        table[slot].exchange = nil
        table[slot].isLastRequest = true
        let bytes = response.encoded(headroom: Frame.headroom, forHead: isHead, closing: true)
        return write(bytes, headroom: Frame.headroom, to: wsi)
    }

    /// Refuses a request whose body has not come within its time limit.
    func refuseLateBody(_ slot: Int) {
        guard let wsi = table[slot].wsi else { return }
        let message = "the body did not come within \(configuration.bodyTimeoutSeconds) s"
        guard refuse(wsi, slot, .problem(408, code: "request_timeout", message: message)) else { return abort(slot) }
        linger(wsi, slot, isLate: true)
    }

    /// Reads and discards what the peer still sends, until it closes or its time is over.
    ///
    /// A close with unread bytes would make the kernel send a reset, and the peer would lose the response.
    ///
    /// `isLate`: Whether the peer has used up the time limit for a body.
    func linger(_ wsi: OpaquePointer, _ slot: Int, isLate: Bool = false) {
        table[slot].phase = .lingering
        if isLate {
            closeDeadlines.add(table.id(of: slot), at: loopMilliseconds)
        } else {
            bodyDeadlines.add(table.requestID(of: slot), at: loopMilliseconds)
        }
        startDeadlines()
        // The peer sees the end of the connection after the response.
        if lws_partial_buffered(wsi) == 0 { shutdown(lws_get_socket_fd(wsi), Int32(SHUT_WR)) }
    }

    /// Writes the response and makes the connection ready for the next request.
    ///
    /// - Returns: 0, or -1 if the connection must end.
    private func finish(_ wsi: OpaquePointer, _ slot: Int, _ response: Response) -> Int32 {
        guard let exchange = table[slot].exchange else { return -1 }
        let closes = exchange.closes || !keepsAlive
        if exchange.isHeldBack { lws_rx_flow_control(wsi, 1) }
        table[slot].phase = .http
        table[slot].serial = 0
        table[slot].exchange = nil
        let bytes = response.encoded(
            headroom: Frame.headroom,
            forHead: exchange.head.method == "HEAD",
            closing: closes
        )
        guard write(bytes, headroom: Frame.headroom, to: wsi) else { return -1 }
        if lws_partial_buffered(wsi) == 0 {
            if closes { return -1 }
            if table[slot].isWatched { unwatch(slot) }
        } else {
            table[slot].isLastRequest = closes
            awaitReading(wsi, slot)
        }
        // If bytes are still buffered, the library completes the transaction when they are sent.
        return lws_http_transaction_completed(wsi) == 0 ? 0 : -1
    }

    func write(_ bytes: [UInt8], headroom: Int, to wsi: OpaquePointer) -> Bool {
        let count = bytes.count - headroom
        return bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return true }
            return lws_write(wsi, UnsafeMutablePointer(mutating: base + headroom), count, LWS_WRITE_HTTP) >= count
        }
    }

    /// Watches a response that the peer has not read yet: the peer has a deadline, and must not pipeline much meanwhile.
    private func awaitReading(_ wsi: OpaquePointer, _ slot: Int) {
        let id = table.id(of: slot)
        if table[slot].isWatched { unwatch(slot) }
        peerWatch.add(lws_get_socket_fd(wsi), id)
        table[slot].isWatched = true
        responseDeadlines.add(id, at: loopMilliseconds)
        startDeadlines()
    }

    /// Reads on from a peer that has read a long response.
    func transactionCompleted(_ slot: Int) {
        if table[slot].isWatched, table[slot].phase == .http { unwatch(slot) }
    }

    func unwatch(_ slot: Int) {
        table[slot].isWatched = false
        guard let wsi = table[slot].wsi else { return }
        peerWatch.remove(lws_get_socket_fd(wsi))
    }

    /// Cuts off peers that hung up before their response was sent completely, or that pipelined much while they were
    /// reading it; holds back those that did so while the response was pending.
    func peersReported() {
        for id in peerWatch.poll() {
            guard let slot = table.slot(of: id), table[slot].isWatched, let wsi = table[slot].wsi else { continue }
            if table[slot].phase == .pending, let exchange = table[slot].exchange, !exchange.isHeldBack {
                // If the peer has hung up, that is reported again at once.
                exchange.isHeldBack = true
                holdBack(wsi, id)
            } else if table[slot].phase == .pending || lws_partial_buffered(wsi) != 0 {
                abort(slot)
            } else {
                unwatch(slot)
            }
        }
    }

    /// Reads nothing more of a peer until its request has its response; only a hang-up is reported meanwhile.
    ///
    /// A hang-up behind more than the kernel's buffer holds is noticed with the response, which no request waits long for.
    private func holdBack(_ wsi: OpaquePointer, _ id: SocketID) {
        // If the library noticed that it has buffered bytes, it would ask again and again whether it may write.
        PipelinedBody.isNext = true
        lws_rx_flow_control(wsi, 0)
        PipelinedBody.isNext = false
        peerWatch.awaitHangUp(lws_get_socket_fd(wsi), id)
    }
}
