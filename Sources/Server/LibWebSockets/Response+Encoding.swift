package import CallPorts
import JSON

extension Response {
    /// Returns an RFC 9457 problem response.
    ///
    /// Its `type` is `about:blank`, its `title` the status' reason phrase; `code` and `message` are our own members.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - code: The code for programs: lower case and `_`.
    ///   - message: A sentence for people.
    ///   - headers: Further header lines.
    /// - Returns: The response.
    package static func problem(_ status: Int, code: String, message: String, headers: [HTTPField] = []) -> Response {
        Response(
            status: status,
            contentType: "application/problem+json",
            headers: headers,
            body: JSONWriter.problem(status, title: reasonPhrase(of: status), code: code, message: message),
            problem: Problem(code: code, message: message)
        )
    }

    /// Returns the whole response as it is sent, after `headroom` spare bytes.
    func encoded(headroom: Int, forHead: Bool, closing: Bool) -> [UInt8] {
        let bodiless = status == 204 || status == 304
        var bytes: [UInt8] = []
        bytes.reserveCapacity(headroom + 256 + (forHead || bodiless ? 0 : body.count))
        bytes.append(contentsOf: repeatElement(0, count: headroom))
        bytes.append(contentsOf: "HTTP/1.1 \(status) \(Self.reasonPhrase(of: status))\r\n".utf8)
        if let contentType { Self.append("Content-Type", contentType, to: &bytes) }
        for header in headers { Self.append(header.name, header.value, to: &bytes) }
        if !bodiless { bytes.append(contentsOf: "Content-Length: \(body.count)\r\n".utf8) }
        bytes.append(contentsOf: (closing ? "Connection: close\r\n\r\n" : "\r\n").utf8)
        if !forHead, !bodiless { bytes.append(contentsOf: body) }
        return bytes
    }

    private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: ": ".utf8)
        // A value from outside must not be able to begin another header line.
        for byte in value.utf8 { bytes.append(byte == 13 || byte == 10 || byte == 0 ? 32 : byte) }
        bytes.append(contentsOf: "\r\n".utf8)
    }

    static func reasonPhrase(of status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: status < 300 ? "Success" : status < 400 ? "Redirect" : status < 500 ? "Client Error" : "Server Error"
        }
    }
}
