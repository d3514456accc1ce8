internal import CLibwebsockets
import CallPorts

/// Bodies that come in chunks, without a length.
///
/// The library does not decode them: it passes on everything after the head. The connection ends after the response, so
/// no byte after the last chunk is ever read as a request.
extension Server {
    func awaitChunks(
        _ wsi: OpaquePointer,
        _ slot: Int,
        _ headers: HeaderReader,
        version: String,
        mayHaveBody: Bool
    ) -> Int32 {
        // With a length too, the two headers disagree on where the body ends, and another reader may believe the other.
        let hasLength = headers.has(WSI_TOKEN_HTTP_CONTENT_LENGTH)
        let codings = RequestHead.list(headers.value(WSI_TOKEN_HTTP_TRANSFER_ENCODING))
        guard !hasLength, version == "HTTP/1.1", codings.count == 1, codings[0].lowercased() == "chunked" else {
            let message = "send either Content-Length or Transfer-Encoding: chunked, with HTTP/1.1"
            let refusal = Response.problem(411, code: "length_required", message: message)
            return refuse(wsi, slot, refusal, length: mayHaveBody && !hasLength ? Int.max : 0)
        }
        table[slot].exchange?.closes = true
        // The library reads no further for another method, and no such request needs a body.
        guard mayHaveBody else { return deliver(wsi, slot) }
        table[slot].exchange?.chunks = (ChunkedBody(), configuration.maxBodyBytes)
        return awaitBytes(wsi, slot, headers)
    }

    func chunksReceived(
        _ wsi: OpaquePointer,
        _ slot: Int,
        _ exchange: Exchange,
        _ bytes: UnsafeRawBufferPointer
    ) -> Int32 {
        do throws(ChunkedBody.Fault) {
            try decode(bytes, exchange)
        } catch {
            return refuseChunks(wsi, slot, exchange, error)
        }
        readBodies.append(table.requestID(of: slot))
        guard let chunks = exchange.chunks, chunks.body.isComplete else { return 0 }
        exchange.body = chunks.body.content
        table[slot].phase = .complete
        return 0
    }

    private func decode(_ bytes: UnsafeRawBufferPointer, _ exchange: Exchange) throws(ChunkedBody.Fault) {
        guard let limit = exchange.chunks?.limit else { return }
        do throws(ChunkedBody.Fault) {
            try exchange.chunks?.body.decode(bytes, limit: limit)
        } catch {
            guard error == .large, limit == configuration.maxBodyBytes,
                case .limit(let more)? = delegate?.largeBody(of: exchange.head), more > limit
            else { throw error }
            exchange.chunks?.limit = more
            try exchange.chunks?.body.decode(bytes, limit: more)
        }
    }

    private func refuseChunks(
        _ wsi: OpaquePointer,
        _ slot: Int,
        _ exchange: Exchange,
        _ fault: ChunkedBody.Fault
    ) -> Int32 {
        let limit = exchange.chunks?.limit ?? 0
        let response =
            switch fault {
            case .malformed: Response.problem(400, code: "bad_request", message: "invalid chunks in the body")
            case .large:
                refusal(ofBody: limit + 1, of: exchange.head)
                    ?? .problem(413, code: "too_large", message: "the body may have at most \(limit) bytes")
            }
        guard refuse(wsi, slot, response) else { return -1 }
        linger(wsi, slot)
        return 0
    }
}

extension HeadFault {
    /// The response to a head that has this fault.
    var refusal: Response {
        switch self {
        case .line:
            let message = "unreadable request line: unknown method, missing path or invalid version"
            return .problem(400, code: "bad_request", message: message)
        case .header: return .problem(400, code: "bad_request", message: "unreadable header line")
        case .large:
            let message = "the address and the headers are too long, or there are too many of them"
            return .problem(431, code: "headers_too_large", message: message)
        }
    }
}
