import CCurl
import Glibc

/// One request under way: its easy handle and the part of the response that has arrived.
///
/// It is used on the client's thread only.
///
/// libcurl's callbacks get an unretained pointer to the transfer. The loop keeps each transfer for as long as its easy
/// handle is in the multi handle. libcurl calls back only during that time, and only from within the loop's own calls.
final class Transfer {
    let queued: QueuedRequest
    let easy: EasyHandle
    /// The loop that runs the transfer, which outlives it.
    private unowned let loop: CurlLoop
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var addressList: UnsafeMutablePointer<curl_slist>?
    private var headers: [HTTPHeader] = []
    private var headerBytes = 0
    private var body: [UInt8] = []
    /// Whether the request was handed to an established connection.
    private(set) var isSent = false
    /// Whether a connection was begun for the request.
    private(set) var isConnecting = false
    /// Whether the request needed a connection for which there was no place.
    private(set) var isDenied = false
    /// The addresses that are not refused; all of them with a proxy, which resolves the host itself.
    private var allowed = HTTPRequest.AllowedAddresses.all
    /// Whether the head of the final response has come.
    private var hasFinalHead = false
    /// Whether an address of the host was refused.
    private var hasRefusedAddress = false
    /// Whether an address of the host was tried.
    private var hasAllowedAddress = false
    /// The failure with which a callback aborted the transfer; nil if none did.
    private var abortFailure: HTTPFailure?

    /// The largest size of all wanted headers together, in bytes; curl itself accepts at most 100 KiB for one line.
    private static let headerLimit = 16 << 10

    init(queued: QueuedRequest, easy: EasyHandle, loop: CurlLoop) {
        self.queued = queued
        self.easy = easy
        self.loop = loop
    }

    deinit {
        curl_slist_free_all(headerList)
        curl_slist_free_all(addressList)
    }

    /// Sets the request's options on the handle; returns false if libcurl refuses one.
    ///
    /// `addresses`: Those of the request's host; empty if libcurl needs none.
    func prepare(_ configuration: HTTPClientConfiguration, addresses: [String]) -> Bool {
        let request = queued.request
        var lines = request.headers.map { header in
            // For libcurl "name:" means "leave this header out", and "name;" means the empty header.
            header.value.isEmpty ? header.name + ";" : header.name + ": " + header.value
        }
        let names = Set(request.headers.map { $0.name.lowercased() })
        lines += ["accept", "expect", "content-type", "user-agent"].filter { !names.contains($0) }.map { $0 + ":" }
        for line in lines {
            guard let longer = curl_slist_append(headerList, line) else { return false }
            headerList = longer
        }
        easy.reset(configuration)
        easy.set(CURLOPT_URL, request.url)
        easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        if !request.body.isEmpty {
            easy.setBody(request.body)
        } else if request.method == "HEAD" {
            easy.set(CURLOPT_NOBODY, 1)
        }
        easy.set(CURLOPT_CUSTOMREQUEST, request.method)
        easy.setHeaders(headerList)
        easy.setCallbacks(Unmanaged.passUnretained(self).toOpaque())
        switch request.addresses {
        case .all: break
        case .publicOnly where configuration.usesProxyFromEnvironment && EnvironmentProxy.isNamed:
            // An exception in `no_proxy` would be a direct connection, without a check of the address.
            easy.set(CURLOPT_NOPROXY, "")
        case .publicOnly: allowed = .publicOnly
        case .ownNetworkOnly:
            easy.set(CURLOPT_PROXY, "")
            allowed = .ownNetworkOnly
        }
        if !addresses.isEmpty, let host = HostAddress(queued.host) {
            guard let list = curl_slist_append(nil, host.entry(addresses)) else { return false }
            addressList = list
            easy.setAddresses(list)
        }
        return easy.acceptedAllOptions
    }

    // MARK: Callbacks of libcurl

    /// Returns whether a connection to an address of the host may be made; if not, another one may still be tried.
    func allows(_ address: UnsafePointer<sockaddr>, _ byteCount: Int) -> Bool {
        let isAllowed =
            switch allowed {
            case .all: true
            case .publicOnly: PublicAddress.isPublic(address, byteCount)
            case .ownNetworkOnly: OwnNetwork.contains(address, byteCount)
            }
        if isAllowed { hasAllowedAddress = true } else { hasRefusedAddress = true }
        return isAllowed
    }

    /// libcurl begins to make a connection.
    func markConnecting() { isConnecting = true }

    /// Returns whether a socket may be made.
    func mayConnect() -> Bool {
        isConnecting = loop.schedule.mayConnect(queued.id)
        isDenied = !isConnecting
        return isConnecting
    }

    func markSent() {
        isSent = true
        loop.schedule.sent(queued.id)
    }

    /// Receives one whole header line with its line break.
    ///
    /// A status line begins a new response, so the headers of an earlier 100 or 103 response are dropped.
    func headerReceived(_ line: UnsafeRawBufferPointer) -> Bool {
        if line.starts(with: "HTTP/".utf8) {
            headers = []
            headerBytes = 0
            return true
        }
        if line.elementsEqual("\r\n".utf8) { hasFinalHead = easy.status >= 200 }
        let wanted = queued.request.wantedHeaders
        guard !wanted.isEmpty, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return true }
        // Bytes that are not UTF-8 become U+FFFD; no caller has a use for a header with such bytes.
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        guard wanted.contains(name) else { return true }
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        let rest = line[(colon + 1)...].drop(while: isSpace)
        let end = rest.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? rest.startIndex
        headerBytes += line.count
        guard headerBytes <= Self.headerLimit else {
            abortFailure = .headersTooLong
            return false
        }
        headers.append(HTTPHeader(name, String(decoding: rest[rest.startIndex..<end], as: UTF8.self)))
        return true
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= queued.request.bodyLimit else {
            abortFailure = .bodyTooLarge
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    // MARK: The end

    /// Returns the outcome for the sender, after the outcome that libcurl or a deadline has led to: a failure after the
    /// head of the response may leave the response's status.
    func reported(_ outcome: HTTPClient.Outcome) -> HTTPClient.Outcome {
        guard case .failure(let failure) = outcome, hasFinalHead, !queued.request.needsBody else { return outcome }
        switch failure {
        case .bodyTooLarge, .connectionLost, .streamFailed, .timedOut:
            return response([])
        default: return outcome
        }
    }

    /// Returns the outcome, once libcurl has finished with this code.
    func outcome(_ code: CURLcode) -> HTTPClient.Outcome {
        if let abortFailure { return .failure(abortFailure) }
        if code == CURLE_COULDNT_CONNECT, hasRefusedAddress, !hasAllowedAddress {
            return .failure(allowed == .publicOnly ? .privateAddress : .publicAddress)
        }
        guard code == CURLE_OK else { return .failure(HTTPFailure(code, isSent: isSent)) }
        return response(body)
    }

    private func response(_ body: [UInt8]) -> HTTPClient.Outcome {
        let version = easy.version
        if queued.request.requiresHTTP2, version < .http2 { return .failure(.notHTTP2) }
        return .success(HTTPResponse(status: easy.status, headers: headers, body: body, version: version))
    }
}

extension HTTPFailure {
    /// Creates the failure for one of libcurl's codes (`CURLcode`, libcurl-errors(3)).
    init(_ code: CURLcode, isSent: Bool) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: self = .nameNotResolved
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: self = .proxyFailed
        case CURLE_COULDNT_CONNECT: self = .connectFailed
        case CURLE_OPERATION_TIMEDOUT: self = isSent ? .timedOut(sent: true) : .connectFailed
        case CURLE_SSL_CONNECT_ERROR: self = .tlsFailed
        case CURLE_PEER_FAILED_VERIFICATION: self = .certificateRefused
        case CURLE_SSL_CACERT_BADFILE: self = .caFileUnreadable
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: self = .connectionLost
        case CURLE_HTTP2, CURLE_HTTP2_STREAM: self = .streamFailed
        // The URL was accepted: libcurl says this of a response that it does not understand, too.
        case CURLE_UNSUPPORTED_PROTOCOL where isSent: self = .notHTTP
        // libcurl says this of a header that is longer than it takes.
        case CURLE_OUT_OF_MEMORY where isSent: self = .headersTooLong
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            self = .invalidRequest("its URL is malformed or has an unsupported scheme")
        default: self = .other(curl_easy_strerror(code).map { String(cString: $0) } ?? "libcurl failed")
        }
    }
}

extension HTTPFailure {
    /// The meaning of an unsent request's failure for its host.
    var endingWhenUnsent: RequestSchedule.Ending {
        switch self {
        // A near deadline may have left too little time to connect.
        case .cancelled, .shutDown, .invalidRequest, .queueFull, .timedOut: .failed
        default: .notConnected
        }
    }

    /// The meaning of a sent request's failure for its host's connections.
    var endingWhenSent: RequestSchedule.Ending {
        switch self {
        case .streamFailed, .bodyTooLarge, .headersTooLong, .cancelled, .shutDown, .notHTTP2: .failed
        default: .lost
        }
    }
}
