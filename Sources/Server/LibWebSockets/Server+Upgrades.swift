internal import CLibwebsockets
import CallPorts
internal import CallWire

/// Checks the obligations of a client in a WebSocket handshake (RFC 6455 §4.2.1) that the library does not check.
extension Server {
    /// - Returns: 0 to upgrade, -1 to end the connection (after the response, if there was one).
    func upgradeAsked(
        _ wsi: OpaquePointer,
        _ slot: Int,
        _ id: SocketID,
        _ name: UnsafeMutableRawPointer?
    ) -> Int32 {
        let headers = HeaderReader(wsi: wsi)
        let offered = name.map { String(cString: $0.assumingMemoryBound(to: CChar.self)) } ?? ""
        guard table[slot].phase == .http, !table[slot].isLastRequest else { return -1 }
        let head = readHead(headers, slot)
        if let fault = headers.fault { return refuse(wsi, id, head, fault.refusal) }
        guard !head.path.isEmpty else { return refuse(wsi, id, head, Self.invalidTarget) }
        if let name, offered.lowercased() == "h2c" {
            // RFC 9110, section 7.8: an unwanted upgrade is ignored. Java's client offers `h2c` with every request.
            // After this function, the library reads the protocol's name again. With a name that it does not know, it
            // continues with HTTP/1.1; so the name is changed.
            name.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
            return 0
        }
        if let refusal = refusal(of: head, headers, upgradeTo: offered) {
            return refuse(wsi, id, head, refusal)
        }
        hasWorkedThisTurn = true
        let decision = delegate?.admit(head, as: id) ?? .refuse(Response(status: 503))
        guard table.slot(of: id) == slot else { return -1 }
        switch decision {
        case .refuse(let response): return refuse(wsi, head, response)
        case .accept(let subprotocol):
            table[slot].phase = .admitted
            markAuthenticated(slot)
            chosenSubprotocol = .some(subprotocol)
        case .acceptThenClose(let code, let reason, let subprotocol):
            table[slot].phase = .admittedToClose
            table[slot].closeCode = code
            table[slot].partial = Array(reason.utf8)
            chosenSubprotocol = .some(subprotocol)
        }
        return 0
    }

    /// Copies the needed parts of a request's or upgrade's head.
    func readHead(_ headers: HeaderReader, _ slot: Int) -> RequestHead {
        var head = RequestHead(headers, row: table[slot])
        if table[slot].isProxy { head.takeForwarded(headers, trusting: configuration.trustedProxies) }
        for name in configuration.furtherHeaders {
            if let value = headers.value(named: name + ":") { head.furtherHeaders.append(HTTPField(name, value)) }
        }
        return head
    }

    private func refusal(of head: RequestHead, _ headers: HeaderReader, upgradeTo name: String) -> Response? {
        func bad(_ message: String) -> Response { .problem(400, code: "bad_handshake", message: message) }
        guard name.lowercased() == "websocket" else { return bad("only Upgrade: websocket is supported") }
        guard configuration.webSocketPaths.contains(head.path) else {
            return .problem(404, code: "not_found", message: "this path is not a WebSocket")
        }
        guard head.method == "GET" else { return bad("the method of a WebSocket handshake must be GET") }
        guard headers.value(WSI_TOKEN_HTTP) == "HTTP/1.1" else { return bad("a WebSocket handshake must be HTTP/1.1") }
        guard headers.has(WSI_TOKEN_HOST), !headers.isRepeated(WSI_TOKEN_HOST) else {
            return bad("exactly one Host header is required")
        }
        guard !headers.has(WSI_TOKEN_HTTP_CONTENT_LENGTH), !headers.has(WSI_TOKEN_HTTP_TRANSFER_ENCODING) else {
            return bad("a WebSocket handshake must not have a body")
        }
        guard RequestHead.list(headers.value(WSI_TOKEN_CONNECTION)).contains(where: { $0.lowercased() == "upgrade" })
        else { return bad("Connection: Upgrade is missing") }
        guard headers.value(WSI_TOKEN_VERSION) == "13" else {
            return .problem(
                426,
                code: "websocket_version",
                message: "only WebSocket version 13 is supported",
                headers: [.init("Upgrade", "websocket"), .init("Sec-WebSocket-Version", "13")]
            )
        }
        guard !headers.isRepeated(WSI_TOKEN_KEY), let key = headers.value(WSI_TOKEN_KEY), Self.isKey(key) else {
            return bad("Sec-WebSocket-Key must be 16 bytes in base64")
        }
        return nil
    }

    /// Whether the key is 24 characters of base64 that encode 16 bytes.
    private static func isKey(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        guard bytes.count == 24, bytes[22] == UInt8(ascii: "="), bytes[23] == UInt8(ascii: "=") else { return false }
        return bytes[..<22].allSatisfy { byte in
            (65...90).contains(byte) || (97...122).contains(byte) || (48...57).contains(byte) || byte == 43
                || byte == 47
        }
    }

    /// Refuses an upgrade without asking the delegate.
    ///
    /// No page can read the response to an upgrade, so it has no headers for pages.
    private func refuse(_ wsi: OpaquePointer, _ id: SocketID, _ head: RequestHead, _ response: Response) -> Int32 {
        if let problem = response.problem { delegate?.refused(head, isUpgrade: true, on: id, problem) }
        return refuse(wsi, head, response)
    }

    private func refuse(_ wsi: OpaquePointer, _ head: RequestHead, _ response: Response) -> Int32 {
        let bytes = response.encoded(headroom: Frame.headroom, forHead: head.method == "HEAD", closing: true)
        bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            let start = UnsafeMutablePointer(mutating: base + Frame.headroom)
            // The connection ends, whether the response was sent or not.
            _ = lws_write(wsi, start, bytes.count - Frame.headroom, LWS_WRITE_HTTP)
        }
        return -1
    }
}
