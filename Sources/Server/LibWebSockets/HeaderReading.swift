internal import CLibwebsockets
import CallPorts

/// Reads headers from the library's pool, which holds them only until the upgrade or the response.
struct HeaderReader {
    let wsi: OpaquePointer

    func has(_ token: lws_token_indexes) -> Bool { lws_hdr_total_length(wsi, token) > 0 }

    /// Whether there are two or more lines of this name; the library stores them as fragments of one header.
    func isRepeated(_ token: lws_token_indexes) -> Bool { lws_hdr_fragment_length(wsi, token, 1) > 0 }

    /// Returns the value; several lines of one name are joined by commas, and invalid UTF-8 is replaced by U+FFFD.
    func value(_ token: lws_token_indexes) -> String? {
        guard has(token) else { return nil }
        guard isRepeated(token) else { return fragment(token, 0) }
        return fragments(token).joined(separator: ",")
    }

    /// Returns the pieces of a value: the lines of one name, or the parameters of a query.
    func fragments(_ token: lws_token_indexes) -> [String] {
        guard has(token) else { return [] }
        var all: [String] = []
        while let next = fragment(token, all.count) { all.append(next) }
        return all
    }

    /// Returns the value of a header that the library has no token for, such as `idempotency-key:`; the first line of
    /// several.
    func value(named name: String) -> String? {
        let length = lws_hdr_custom_length(wsi, name, Int32(name.utf8.count))
        guard length >= 0 else { return nil }
        return String(unsafeUninitializedCapacity: Int(length) + 1) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { buffer in
                max(0, Int(lws_hdr_custom_copy(wsi, buffer.baseAddress, length + 1, name, Int32(name.utf8.count))))
            }
        }
    }

    private func fragment(_ token: lws_token_indexes, _ index: Int) -> String? {
        let length = Int(lws_hdr_fragment_length(wsi, token, Int32(index)))
        guard length > 0 || index == 0 else {
            // A piece may be empty; only the copy function distinguishes an empty piece from a missing one.
            var byte = CChar(0)
            return lws_hdr_copy_fragment(wsi, &byte, 1, token, Int32(index)) < 0 ? nil : ""
        }
        return String(unsafeUninitializedCapacity: length + 1) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { buffer in
                max(0, Int(lws_hdr_copy_fragment(wsi, buffer.baseAddress, Int32(length + 1), token, Int32(index))))
            }
        }
    }

    /// Returns the bytes of a piece as they are.
    private func bytes(_ token: lws_token_indexes, _ index: Int) -> [UInt8] {
        let length = Int(lws_hdr_fragment_length(wsi, token, Int32(index)))
        return [UInt8](unsafeUninitializedCapacity: length + 1) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { buffer in
                max(0, Int(lws_hdr_copy_fragment(wsi, buffer.baseAddress, Int32(length + 1), token, Int32(index))))
            }
        }
    }

    /// The fault for which the ``RequestFilter`` has ended the head; `nil` = the head has none.
    var fault: HeadFault? { value(WSI_TOKEN_HTTP_PRAGMA).flatMap(HeadFault.init) }

    /// The request's method, and its target; the target is nil if it is not valid.
    var line: (method: String, target: RequestTarget?) {
        guard let (token, method) = Self.methods.first(where: { has($0.0) }) else { return ("GET", nil) }
        return (method, target(token))
    }

    private func target(_ token: lws_token_indexes) -> RequestTarget? {
        var text = bytes(token, 0)
        guard FilteredReads.areInterposed else {
            // The library has decoded the target and split the query.
            return RequestTarget(path: String(decoding: text, as: UTF8.self), query: decodedQuery)
        }
        // A target without marks was not filtered, so the library has folded it.
        guard text.first == UInt8(ascii: "/"), text.dropFirst().allSatisfy({ $0 & RequestTarget.mark != 0 }) else {
            return nil
        }
        for index in text.indices { text[index] &= ~RequestTarget.mark }
        return RequestTarget(text)
    }

    private static let methods: [(lws_token_indexes, String)] = [
        (WSI_TOKEN_GET_URI, "GET"), (WSI_TOKEN_POST_URI, "POST"), (WSI_TOKEN_PUT_URI, "PUT"),
        (WSI_TOKEN_DELETE_URI, "DELETE"), (WSI_TOKEN_OPTIONS_URI, "OPTIONS"), (WSI_TOKEN_HEAD_URI, "HEAD"),
        (WSI_TOKEN_PATCH_URI, "PATCH"),
    ]

    /// The query's parameters, decoded by the library.
    private var decodedQuery: [HTTPField] {
        fragments(WSI_TOKEN_HTTP_URI_ARGS).compactMap { pair in
            guard !pair.isEmpty else { return nil }
            guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return HTTPField(pair, "") }
            return HTTPField(String(pair[..<equals]), String(pair[pair.utf8.index(after: equals)...]))
        }
    }
}

extension RequestHead {
    /// Copies the request head that the library holds during a callback; without a valid target, its path is empty.
    init(_ headers: HeaderReader, row: Connection) {
        let line = headers.line
        // The filter ends an unreadable line with a target of its own.
        let target = headers.fault == .line ? nil : line.target
        self.init(
            method: line.method,
            path: target?.path ?? "",
            query: target?.query ?? [],
            authorization: headers.value(WSI_TOKEN_HTTP_AUTHORIZATION),
            origin: headers.value(WSI_TOKEN_ORIGIN),
            host: headers.value(WSI_TOKEN_HOST),
            contentType: headers.value(WSI_TOKEN_HTTP_CONTENT_TYPE),
            protocols: Self.list(headers.value(WSI_TOKEN_PROTOCOL)),
            isTLS: row.isTLS,
            listener: Int(row.listener),
            peerAddress: row.peer.text
        )
        acceptEncoding = headers.value(WSI_TOKEN_HTTP_ACCEPT_ENCODING)
        ifNoneMatch = headers.value(WSI_TOKEN_HTTP_IF_NONE_MATCH)
        requestedHeaders = Self.list(headers.value(WSI_TOKEN_HTTP_AC_REQUEST_HEADERS))
        if method == "POST" { idempotencyKey = headers.value(named: "idempotency-key:") }
        clientNetwork = ClientNetwork(row.peer)
    }

    /// Sets ``clientNetwork`` to the network of a trusted proxy's client.
    ///
    /// The client's address is the last one in `X-Forwarded-For` that belongs to no trusted proxy. The addresses before
    /// it may have been written by any client.
    mutating func takeForwarded(_ headers: HeaderReader, trusting proxies: [AddressRange]) {
        for text in Self.list(headers.value(WSI_TOKEN_X_FORWARDED_FOR)).reversed() {
            guard let address = PeerAddress(text) else { return }
            clientNetwork = ClientNetwork(address)
            guard proxies.contains(where: { $0.contains(address) }) else { return }
        }
    }

    /// Returns the elements of a comma-separated list, without blanks around them.
    static func list(_ value: String?) -> [String] {
        guard let value else { return [] }
        return value.utf8.split(separator: UInt8(ascii: ",")).compactMap { piece in
            let isBlank = { (byte: UInt8) in byte == 32 || byte == 9 }
            guard let first = piece.firstIndex(where: { !isBlank($0) }),
                let last = piece.lastIndex(where: { !isBlank($0) })
            else { return nil }
            return String(Substring(piece[first...last]))
        }
    }
}
