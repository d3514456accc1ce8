internal import CLibwebsockets
internal import CallWire
internal import Glibc

/// HTTP requests and their responses.
extension Server {
    /// Responds to a request, within ``ServerDelegate/requested(_:body:exchange:)`` or at any time later.
    ///
    /// A second response to a request does nothing, and neither does a response to a peer that is gone.
    public func respond(_ exchange: ExchangeID, with response: HTTPResponse) {
        checkThread()
        guard let slot = table.slot(of: exchange), table[slot].phase == .pending else { return }
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
        let headers = HeaderReader(wsi: wsi)
        guard let head = readHead(headers, slot) else {
            return refuse(wsi, slot, .problem(400, code: "bad_request", message: "missing path"), length: 0)
        }
        let version = headers.value(WSI_TOKEN_HTTP) ?? ""
        let mayHaveBody = head.method == "POST" || head.method == "PUT" || head.method == "PATCH"
        let isKeptAlive = keepsAlive(headers, version: version)
        lastSerial = lastSerial == .max ? 1 : lastSerial + 1
        table[slot].serial = lastSerial
        table[slot].exchange = Exchange(head: head, expectedBytes: 0, closes: !isKeptAlive)
        guard !version.isEmpty else {
            // The library takes a CR or LF in the path for the end of the line, even if it is escaped as %0D. Then the
            // library never reads the version.
            let message = "invalid request line: no HTTP version, or a line break in the path"
            return refuse(wsi, slot, .problem(400, code: "bad_request", message: message), length: 0)
        }
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            return refuse(
                wsi,
                slot,
                .problem(505, code: "http_version", message: "only HTTP/1.1 is supported"),
                length: 0
            )
        }
        if headers.isRepeated(WSI_TOKEN_HOST) || (version == "HTTP/1.1" && !headers.has(WSI_TOKEN_HOST)) {
            return refuse(
                wsi,
                slot,
                .problem(400, code: "bad_request", message: "exactly one Host header is required"),
                length: 0
            )
        }
        if headers.has(WSI_TOKEN_HTTP_TRANSFER_ENCODING) {
            // The library does not decode a chunked body. If there is also a Content-Length, the two headers disagree
            // on where the body ends.
            let length = mayHaveBody && !headers.has(WSI_TOKEN_HTTP_CONTENT_LENGTH) ? Int.max : 0
            return refuse(
                wsi,
                slot,
                .problem(411, code: "length_required", message: "send Content-Length, not Transfer-Encoding"),
                length: length
            )
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

    /// Returns the refusal of a body above the general limit; `nil` = the delegate allows this request a larger one.
    private func refusal(ofBody length: Int, of head: RequestHead) -> HTTPResponse? {
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
        table[slot].phase = .body
        bodyDeadlines.add(table.exchange(of: slot), at: loopMilliseconds)
        startDeadlines()
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
    private func expectsContinue(_ headers: HeaderReader) -> Bool {
        headers.value(WSI_TOKEN_HTTP_EXPECT)?.lowercased() == "100-continue"
            && headers.value(WSI_TOKEN_HTTP) == "HTTP/1.1"
    }

    func bodyReceived(_ slot: Int, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        // A copy of the exchange would share its body, which each append would then copy.
        guard table[slot].phase == .body,
            let room = table[slot].exchange.map({ $0.expectedBytes - $0.body.count })
        else { return 0 }
        guard bytes.count <= room else { return -1 }
        table[slot].exchange?.body.append(contentsOf: bytes)
        return 0
    }

    func bodyCompleted(_ wsi: OpaquePointer, _ slot: Int) -> Int32 {
        // The library calls this again for every byte that is pipelined after the body.
        guard table[slot].phase == .body else { return 0 }
        return deliver(wsi, slot)
    }

    private func deliver(_ wsi: OpaquePointer, _ slot: Int) -> Int32 {
        guard let exchange = table[slot].exchange else { return -1 }
        let id = table.id(of: slot)
        table[slot].exchange?.body = []
        table[slot].phase = .pending
        table[slot].isDelivering = true
        hasWorkedThisTurn = true
        delegate?.requested(
            exchange.head,
            body: exchange.body,
            exchange: table.exchange(of: slot)
        )
        guard table.slot(of: id) == slot, table[slot].phase == .pending else { return -1 }
        table[slot].isDelivering = false
        if let response = table[slot].exchange?.response { return finish(wsi, slot, response) }
        // The delegate may respond as late as it likes, so the 16 KB header block is released meanwhile. After a
        // request with a body the block is kept. Otherwise the library would attach a new block to read on, and would
        // not know that the request's headers were complete.
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
        if exchange.expectedBytes == 0 { lws_http_headers_detach(wsi) }
        peerWatch.add(lws_get_socket_fd(wsi), id, raisingLowWater: true)
        table[slot].isWatched = true
        return 0
    }

    private func keepsAlive(_ headers: HeaderReader, version: String) -> Bool {
        // This repeats the library's rule, because the library's decision must agree with the `Connection` header of
        // our response.
        switch headers.value(WSI_TOKEN_CONNECTION)?.lowercased() {
        case "keep-alive": true
        case "close": false
        default: version == "HTTP/1.1"
        }
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

    // MARK: Out

    /// Refuses a request without reading its body.
    ///
    /// `length` is the number of body bytes that are still to be read and discarded; with 0 the connection ends
    /// immediately.
    private func refuse(_ wsi: OpaquePointer, _ slot: Int, _ response: HTTPResponse, length: Int) -> Int32 {
        let head = table[slot].exchange?.head
        if let problem = response.problem {
            delegate?.refused(head, isUpgrade: false, on: table.id(of: slot), problem)
        }
        let isHead = head?.method == "HEAD"
        table[slot].exchange = nil
        table[slot].isLastRequest = true
        let bytes = response.encoded(headroom: Frame.headroom, forHead: isHead, closing: true)
        guard write(bytes, headroom: Frame.headroom, to: wsi) else { return -1 }
        guard length > 0 else { return -1 }
        // A close with unread bytes would make the kernel send a reset, and the peer would lose the response. So the
        // bytes are read.
        table[slot].phase = .lingering
        PipelinedBody.isNext = true
        bodyDeadlines.add(table.exchange(of: slot), at: loopMilliseconds)
        startDeadlines()
        return 0
    }

    /// Writes the response and makes the connection ready for the next request.
    ///
    /// - Returns: 0, or -1 if the connection must end.
    private func finish(_ wsi: OpaquePointer, _ slot: Int, _ response: HTTPResponse) -> Int32 {
        guard let exchange = table[slot].exchange else { return -1 }
        let closes = exchange.closes || !keepsAlive
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

    private func write(_ bytes: [UInt8], headroom: Int, to wsi: OpaquePointer) -> Bool {
        let count = bytes.count - headroom
        return bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return true }
            return lws_write(wsi, UnsafeMutablePointer(mutating: base + headroom), count, LWS_WRITE_HTTP) >= count
        }
    }

    /// Watches a response that the peer has not read yet: the peer has a deadline, and must not pipeline meanwhile.
    private func awaitReading(_ wsi: OpaquePointer, _ slot: Int) {
        let id = table.id(of: slot)
        if table[slot].isWatched { unwatch(slot) }
        peerWatch.add(lws_get_socket_fd(wsi), id, raisingLowWater: false)
        table[slot].isWatched = true
        responseDeadlines.add(id, at: loopMilliseconds)
        startDeadlines()
    }

    func unwatch(_ slot: Int) {
        table[slot].isWatched = false
        guard let wsi = table[slot].wsi else { return }
        peerWatch.remove(lws_get_socket_fd(wsi))
    }

    /// Cuts off peers that hung up before their response was sent completely, that sent too much while the response was
    /// pending, or that sent anything while they were reading it.
    func peersReported() {
        for id in peerWatch.take() {
            guard let slot = table.slot(of: id), table[slot].isWatched, let wsi = table[slot].wsi else { continue }
            if table[slot].phase == .pending || lws_partial_buffered(wsi) != 0 {
                abort(slot)
            } else {
                unwatch(slot)
            }
        }
    }
}
