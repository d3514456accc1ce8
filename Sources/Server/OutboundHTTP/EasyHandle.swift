import CCurl
import Glibc

/// An easy handle of libcurl: it runs one transfer at a time, and is reused for later ones.
///
/// It is used on the client's thread only.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    /// Whether libcurl accepted every option since the last ``reset(_:)``.
    private(set) var acceptedAllOptions = true

    /// Creates a handle (`curl_easy_init`); nil if memory is short.
    init?() {
        guard let pointer = curl_easy_init() else { return nil }
        self.pointer = pointer
    }

    deinit { curl_easy_cleanup(pointer) }

    /// Clears the options of the last transfer (`curl_easy_reset`) and sets the options that all transfers share.
    func reset(_ configuration: HTTPClientConfiguration) {
        curl_easy_reset(pointer)
        acceptedAllOptions = true
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROTOCOLS_STR, "https,http")
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeoutMilliseconds)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, 30)
        set(CURLOPT_TCP_KEEPINTVL, 10)
        // Apple asks clients to keep connections; by default curl drops one that was idle for 118 s. A dead connection
        // is noticed by keep-alive; if the connection is used before that, its loss is noticed after
        // `unacknowledgedTimeoutMilliseconds`.
        set(CURLOPT_MAXAGE_CONN, 3_600)
        // libcurl resolves only the names of proxies. If that hangs, removing the transfer must not block the loop
        // (libcurl would join the resolver's thread).
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        if let caFile = configuration.caFile {
            set(CURLOPT_CAINFO, caFile)
            // Otherwise libcurl would still trust the system's folder of authorities as well.
            check(ringline_curl_set_string(pointer, CURLOPT_CAPATH, nil))
        }
        // An empty name means no proxy, even if the environment names one (CURLOPT_PROXY(3)).
        if !configuration.usesProxyFromEnvironment { set(CURLOPT_PROXY, "") }
        check(ringline_curl_set_sockopt(pointer, curlSocketMade))
        let timeout = UnsafeMutableRawPointer(bitPattern: configuration.unacknowledgedTimeoutMilliseconds)
        check(ringline_curl_set_pointer(pointer, CURLOPT_SOCKOPTDATA, timeout))
    }

    func set(_ option: CURLoption, _ value: Int) { check(ringline_curl_set_long(pointer, option, value)) }

    func set(_ option: CURLoption, _ value: String) { check(ringline_curl_set_string(pointer, option, value)) }

    /// Sets a request body, which libcurl copies (`CURLOPT_COPYPOSTFIELDS`; the size must be set first).
    func setBody(_ body: [UInt8]) {
        check(ringline_curl_set_size(pointer, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
        body.withUnsafeBytes { bytes in
            check(ringline_curl_set_pointer(pointer, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress))
        }
    }

    /// Sets the headers; the list remains the caller's.
    func setHeaders(_ list: UnsafeMutablePointer<curl_slist>?) {
        check(ringline_curl_set_list(pointer, CURLOPT_HTTPHEADER, list))
    }

    /// Sets the addresses of hosts (`CURLOPT_RESOLVE`); the list remains the caller's.
    func setAddresses(_ list: UnsafeMutablePointer<curl_slist>?) {
        check(ringline_curl_set_list(pointer, CURLOPT_RESOLVE, list))
    }

    /// Makes libcurl call the functions of Callbacks.swift with this transfer.
    func setCallbacks(_ transfer: UnsafeMutableRawPointer) {
        check(ringline_curl_set_writer(pointer, CURLOPT_WRITEFUNCTION, curlTakesBody))
        check(ringline_curl_set_pointer(pointer, CURLOPT_WRITEDATA, transfer))
        check(ringline_curl_set_writer(pointer, CURLOPT_HEADERFUNCTION, curlTakesHeader))
        check(ringline_curl_set_pointer(pointer, CURLOPT_HEADERDATA, transfer))
        check(ringline_curl_set_prereq(pointer, curlSends))
        check(ringline_curl_set_pointer(pointer, CURLOPT_PREREQDATA, transfer))
        check(ringline_curl_set_opensocket(pointer, curlOpensSocket))
        check(ringline_curl_set_pointer(pointer, CURLOPT_OPENSOCKETDATA, transfer))
        check(ringline_curl_set_resolver_start(pointer, curlResolves))
        check(ringline_curl_set_pointer(pointer, CURLOPT_RESOLVER_START_DATA, transfer))
    }

    private func check(_ code: CURLcode) { if code != CURLE_OK { acceptedAllOptions = false } }

    /// The status code of the finished transfer.
    var status: Int { ringline_curl_get_long(pointer, CURLINFO_RESPONSE_CODE, 0) }

    /// The HTTP version of the finished transfer's response.
    var version: HTTPVersion {
        switch ringline_curl_get_long(pointer, CURLINFO_HTTP_VERSION, 0) {
        case Int(CURL_HTTP_VERSION_1_1): .http11
        case Int(CURL_HTTP_VERSION_2_0): .http2
        case Int(CURL_HTTP_VERSION_3): .http3
        default: .http1
        }
    }
}
