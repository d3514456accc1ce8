/// Reads the heads of a connection's requests before the library does, and passes on only what the library has to know.
///
/// It works in place, on the bytes of each read:
///
/// - The bytes of the request target get their highest bit set, so that the library neither decodes nor folds anything:
///   `//`, `/../`, `%2f` and `+` reach ``RequestTarget`` as the client wrote them.
/// - Header lines that the server does not read, such as `Cookie`, are left out. The library keeps all headers in one
///   block, and ends the connection without a response when the block is full.
/// - A head that is too large or malformed is ended early, with a mark (``HeadFault``) that makes the server refuse the
///   request with a response.
///
/// Every line that is passed on is complete and has the form of RFC 9112, so nothing depends on how the library reads
/// malformed ones.
struct RequestFilter {
    /// The spare bytes that must be in front of the bytes of a read: what is passed on may be longer by a name
    /// or blanks that began in an earlier read, or by a mark.
    static let room = 192

    private enum State: UInt8 {
        case start, method, target, version, name, beforeValue, value, dropped, lineEnd, headEnd
        /// The rest of the connection is a body whose end this filter does not know, a WebSocket, or nothing that the
        /// server still reads as a request.
        case rest
    }

    /// The most bytes of a head, and the most without `Cookie`.
    private let limit: Int
    private let limitBesidesCookies: Int
    private var state = State.start
    /// Whether the line that is being read is passed on, so that its end must be too.
    private var isKept = false
    private var bytes = 0
    private var cookieBytes = 0
    private var isCookie = false
    private var lines = 0
    /// The beginning of a method, a version or a name, kept back until it is complete.
    private var held: [UInt8] = []
    /// The header whose value is being read, if the filter has to know the value.
    private var header = HeaderName.other
    /// The value's length, up to its length in ``known``.
    private var matched = 0
    private var hasValue = false
    /// The number of blanks within a value that were not passed on yet: those at its end do not belong to it (RFC 9112,
    /// section 5.1).
    private var blanks = 0
    private var framing = Framing()
    /// The bytes of the body that are still to come.
    private var bodyBytes = 0

    /// Creates the filter of a new connection.
    init(limit: Int, limitBesidesCookies: Int) {
        self.limit = limit
        self.limitBesidesCookies = limitBesidesCookies
    }

    /// Whether the rest of the connection is passed on as it comes.
    var isDone: Bool { state == .rest }

    /// Filters the bytes of one read, which begin `room` or more bytes after the buffer's start.
    ///
    /// - Returns: The number of bytes to pass on, which are at the buffer's start.
    mutating func filter(_ buffer: UnsafeMutableRawBufferPointer, from start: Int) -> Int {
        var output = Output(buffer: buffer)
        var index = start
        while index < buffer.count {
            if state == .rest || bodyBytes > 0 {
                let count = state == .rest ? buffer.count - index : min(bodyBytes, buffer.count - index)
                output.move(from: index, count: count)
                index += count
                if state != .rest { bodyBytes -= count }
                continue
            }
            if state == .dropped, isCookie { cookieBytes += 1 }
            read(buffer[index], &output)
            index += 1
            guard state != .rest else { continue }
            bytes += 1
            if bytes > limit || bytes - cookieBytes > limitBesidesCookies || lines > Self.mostLines {
                refuse(.large, &output)
            }
        }
        return output.count
    }

    /// The most header lines that are passed on; the library has about ninety places.
    private static let mostLines = 64

    private mutating func read(_ byte: UInt8, _ output: inout Output) {
        switch state {
        case .start:
            // RFC 9112, section 2.2: empty lines before a request are ignored.
            guard byte != Byte.cr, byte != Byte.lf else { break }
            state = .method
            readMethod(byte, &output)
        case .method: readMethod(byte, &output)
        case .target: readTarget(byte, &output)
        case .version: readVersion(byte, &output)
        case .name: readName(byte, &output)
        case .beforeValue, .value: readValue(byte, &output)
        case .dropped:
            if byte == Byte.cr { state = .lineEnd } else if byte == Byte.lf { endLine(Byte.bareEnd, &output) }
        case .lineEnd: byte == Byte.lf ? endLine(Byte.lineEnd, &output) : refuse(.header, &output)
        case .headEnd: byte == Byte.lf ? endHead(Byte.lineEnd, &output) : refuse(.header, &output)
        case .rest: break
        }
    }

    // MARK: The request line

    private static let methods: Set<[UInt8]> = Set(
        ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"].map { Array($0.utf8) }
    )

    private static let head = Array("HEAD ".utf8)

    private mutating func readMethod(_ byte: UInt8, _ output: inout Output) {
        switch byte {
        case 65...90 where held.count < 8: held.append(byte)
        case Byte.blank where Self.methods.contains(held):
            framing = Framing(mayHaveBody: held.first == UInt8(ascii: "P"))
            held.append(byte)
        // Only a path is a target, and it follows one blank.
        case UInt8(ascii: "/") where held.last == Byte.blank:
            output.append(held)
            output.append(byte)
            held.removeAll(keepingCapacity: true)
            state = .target
        default: refuse(.line, &output)
        }
    }

    private mutating func readTarget(_ byte: UInt8, _ output: inout Output) {
        switch byte {
        case 0x21...0x7E: output.append(byte | RequestTarget.mark)
        case Byte.blank:
            output.append(byte)
            state = .version
        default: refuse(.line, &output)
        }
    }

    private mutating func readVersion(_ byte: UInt8, _ output: inout Output) {
        switch byte {
        case 0x21...0x7E where held.count < 16: held.append(byte)
        case Byte.cr where !held.isEmpty, Byte.lf where !held.isEmpty:
            output.append(held)
            held.removeAll(keepingCapacity: true)
            isKept = true
            state = .lineEnd
            if byte == Byte.lf { endLine(Byte.bareEnd, &output) }
        default: refuse(.line, &output)
        }
    }

    // MARK: Header lines

    private mutating func readName(_ byte: UInt8, _ output: inout Output) {
        switch byte {
        case UInt8(ascii: ":") where !held.isEmpty:
            beginValue(&output)
        case Byte.cr where held.isEmpty: state = .headEnd
        case Byte.lf where held.isEmpty: endHead(Byte.bareEnd, &output)
        case _ where Byte.isToken(byte):
            // No header that the server reads has a longer name.
            if held.count <= HeaderName.longest { held.append(Byte.lowercased(byte)) }
        // A blank at the beginning would continue the line before (RFC 9112, section 5.2), and one before the colon may
        // make another name of it for another reader (RFC 9112, section 5.1).
        default: refuse(.header, &output)
        }
    }

    private mutating func beginValue(_ output: inout Output) {
        defer { held.removeAll(keepingCapacity: true) }
        guard let name = HeaderName(held) else {
            isCookie = held == HeaderName.cookie
            state = .dropped
            return
        }
        header = name
        lines += 1
        matched = 0
        blanks = 0
        hasValue = false
        if name == .transferEncoding { framing.hasCoding = true }
        if name == .contentLength { framing.beginLength() }
        output.append(held)
        output.append(UInt8(ascii: ":"))
        isKept = true
        state = .beforeValue
    }

    private mutating func readValue(_ byte: UInt8, _ output: inout Output) {
        switch byte {
        case Byte.blank where state == .beforeValue, Byte.tab where state == .beforeValue: break
        case Byte.blank where blanks < Self.mostBlanks, Byte.tab where blanks < Self.mostBlanks: blanks += 1
        case Byte.cr: state = .lineEnd
        case Byte.lf: endLine(Byte.bareEnd, &output)
        case Byte.tab, 0x20...0x7E, 0x80...0xFF:
            state = .value
            hasValue = true
            for _ in 0..<blanks { keep(Byte.blank, &output) }
            blanks = 0
            keep(byte, &output)
        default: refuse(.header, &output)
        }
    }

    /// The most blanks that are kept back; more of them would need more room in front of a read.
    private static let mostBlanks = 64

    private mutating func keep(_ byte: UInt8, _ output: inout Output) {
        output.append(byte)
        switch header {
        case .contentLength: framing.readLength(byte)
        case .upgrade: framing.readUpgrade(byte, at: matched)
        case .transferEncoding, .other: return
        }
        matched += 1
    }

    /// Ends a line as the client ended it: if what is passed on could be longer than what was read, it would overwrite
    /// bytes that have not been read yet.
    private mutating func endLine(_ end: [UInt8], _ output: inout Output) {
        if isKept { output.append(end) }
        blanks = 0
        let isEmpty = isKept && !hasValue && (header == .contentLength || header == .transferEncoding)
        if isKept, header == .upgrade { framing.endUpgrade(at: matched) }
        isKept = false
        header = .other
        state = .name
        // The library does not distinguish an empty header from an absent one.
        if isEmpty { refuse(.header, &output) }
    }

    private mutating func endHead(_ end: [UInt8], _ output: inout Output) {
        output.append(end)
        bytes = 0
        cookieBytes = 0
        lines = 0
        state = .start
        switch framing.body {
        case .none: break
        case .bytes(let count): bodyBytes = count
        case .unknown: state = .rest
        }
    }

    /// Ends the head here, with a mark that makes the server refuse the request.
    private mutating func refuse(_ fault: HeadFault, _ output: inout Output) {
        switch state {
        // A response to HEAD has no body, even if the rest of the line cannot be read.
        case .start, .method:
            let method = held.starts(with: Self.head) ? "HEAD" : "GET"
            output.append(Array("\(method) / HTTP/1.1\r\n".utf8))
        case .target: output.append(Array(" HTTP/1.1\r\n".utf8))
        case .version: output.append(Array("HTTP/1.1\r\n".utf8))
        case .rest: return
        default: if isKept { output.append(Byte.lineEnd) }
        }
        output.append(fault.lines)
        state = .rest
        held = []
    }
}

/// A fault for which the filter ends a head.
enum HeadFault: String, CaseIterable {
    /// The request line is not one of RFC 9112, or has an unknown method.
    case line
    /// A header line is not one of RFC 9112.
    case header
    /// The head is too large.
    case large

    /// The end of a head that has this fault.
    ///
    /// `Pragma` is the mark: the filter passes on no such line of the client's. The length makes the library read on, so
    /// that the client reads the response before the connection ends.
    fileprivate var lines: [UInt8] {
        let length = self == .large ? "Content-Length: 100000000\r\n" : ""
        return Array("Pragma: \(rawValue)\r\n\(length)\r\n".utf8)
    }
}

/// What a head says about the end of its body.
private struct Framing {
    enum Body { case none, bytes(Int), unknown }

    var mayHaveBody = false
    var hasCoding = false
    private var lengths = 0
    private var digits = 0
    private var length = 0
    private var isLengthValid = true
    private var isWebSocket = true
    private var hasUpgraded = false

    init(mayHaveBody: Bool = false) { self.mayHaveBody = mayHaveBody }

    mutating func beginLength() { lengths += 1 }

    mutating func readLength(_ byte: UInt8) {
        digits += 1
        isLengthValid = isLengthValid && (48...57).contains(byte) && digits <= 15
        if isLengthValid { length = length * 10 + Int(byte - 48) }
    }

    private static let webSocket = Array("websocket".utf8)

    mutating func readUpgrade(_ byte: UInt8, at index: Int) {
        isWebSocket = isWebSocket && index < Self.webSocket.count && Byte.lowercased(byte) == Self.webSocket[index]
    }

    mutating func endUpgrade(at count: Int) {
        hasUpgraded = hasUpgraded || isWebSocket && count == Self.webSocket.count
    }

    /// How the body ends; after a request for which this is unknown, the server ends the connection.
    var body: Body {
        if hasCoding || hasUpgraded || lengths > 1 || !isLengthValid { return .unknown }
        if lengths == 1 { return length == 0 ? .none : .bytes(length) }
        return mayHaveBody ? .unknown : .none
    }
}

/// The headers that the server reads; all others are left out.
private enum HeaderName {
    case contentLength, transferEncoding, upgrade, other

    static let longest = 32
    static let cookie = Array("cookie".utf8)

    init?(_ name: [UInt8]) {
        guard let found = Self.all[name] else { return nil }
        self = found
    }

    private static let all: [[UInt8]: HeaderName] = {
        var all: [[UInt8]: HeaderName] = [
            Array("content-length".utf8): .contentLength, Array("transfer-encoding".utf8): .transferEncoding,
            Array("upgrade".utf8): .upgrade,
        ]
        for name in [
            "host", "authorization", "origin", "content-type", "connection", "expect", "accept-encoding",
            "if-none-match", "x-forwarded-for", "access-control-request-headers", "sec-websocket-key",
            "sec-websocket-version", "sec-websocket-protocol", "idempotency-key",
            // Of deliveries of events: ServerConfiguration.furtherHeaders.
            "webhook-id", "webhook-timestamp", "webhook-signature",
        ] { all[Array(name.utf8)] = .other }
        return all
    }()
}

/// The bytes that are passed on: at the buffer's start, never beyond the bytes that were read.
private struct Output {
    let buffer: UnsafeMutableRawBufferPointer
    var count = 0

    mutating func append(_ byte: UInt8) {
        buffer[count] = byte
        count += 1
    }

    mutating func append(_ bytes: [UInt8]) { for byte in bytes { append(byte) } }

    mutating func move(from index: Int, count moved: Int) {
        guard let base = buffer.baseAddress else { return }
        (base + count).copyMemory(from: base + index, byteCount: moved)
        count += moved
    }
}

private enum Byte {
    static let cr = UInt8(ascii: "\r")
    static let lf = UInt8(ascii: "\n")
    static let blank = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let lineEnd: [UInt8] = [cr, lf]
    static let bareEnd: [UInt8] = [lf]

    static func lowercased(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }

    /// Whether a byte may be in the name of a header (RFC 9110, section 5.1).
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        default: tokenMarks.contains(byte)
        }
    }

    private static let tokenMarks: Set<UInt8> = Set("!#$%&'*+-.^_`|~".utf8)
}
