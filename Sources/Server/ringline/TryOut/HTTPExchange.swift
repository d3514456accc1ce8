import Diagnostics

/// One HTTP request on a connection of its own, for commands that ask a server.
enum HTTPExchange {
    /// A response, or as much of it as arrived.
    struct Response {
        let status: Int
        /// The lines of the head, without the first one.
        let lines: [Substring]
        let body: String
        /// Whether the body has the length that the head names.
        let isComplete: Bool

        /// Returns the value of a header.
        func header(_ name: String) -> String? {
            let line = lines.first { $0.lowercased().hasPrefix("\(name):") }
            return line.map { String($0.dropFirst(name.utf8.count + 1).drop { $0 == " " }) }
        }
    }

    /// Sends a request and returns the response; `nil` if what arrives is no response.
    ///
    /// A server that sends only a byte now and then is no use either, so the whole exchange has a time limit.
    static func response(
        to request: String,
        on socket: ClientSocket,
        until end: ContinuousClock.Instant
    ) -> Response? {
        guard socket.limit(until: end), socket.send(Array(request.utf8)) else { return nil }
        var bytes: [UInt8] = []
        var response: Response?
        while bytes.count < 65_536, socket.limit(until: end) {
            let more = socket.receive()
            if more.isEmpty { break }
            bytes += more
            response = parse(bytes)
            if let response, response.isComplete { return response }
        }
        return response
    }

    /// Returns the response that begins with these bytes; `nil` if its head is incomplete or is none.
    private static func parse(_ bytes: [UInt8]) -> Response? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasPrefix("HTTP/1."), let gap = text.firstRange(of: "\r\n\r\n"),
            let status = Int(text.dropFirst(9).prefix(3))
        else { return nil }
        let lines = text[..<gap.lowerBound].split(separator: "\r\n").dropFirst()
        let body = String(text[gap.upperBound...])
        let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).filter { $0 != " " }) }
        // A change of the protocol has no body.
        let isComplete = status == 101 || length.map { body.utf8.count >= $0 } ?? false
        return Response(status: status, lines: Array(lines), body: body, isComplete: isComplete)
    }
}
