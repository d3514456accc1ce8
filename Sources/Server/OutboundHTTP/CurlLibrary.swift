import CCurl

/// The process-wide initialization of libcurl.
enum CurlLibrary {
    /// The oldest libcurl with all features that we use (`CURLOPT_QUICK_EXIT`, 7.87.0).
    private static let oldest: UInt32 = 0x07_57_00

    private static let fault: String? = {
        // The call is thread-safe since libcurl 7.84, and a `static let` makes it only once anyway.
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else {
            return "its initialization failed (curl_global_init)"
        }
        guard let info = ringline_curl_version() else { return "it reports no version" }
        guard info.pointee.version_num >= oldest else {
            return "version \(version(info.pointee.version_num)) is installed, but 7.87 or newer is required"
        }
        guard info.pointee.features & CURL_VERSION_HTTP2 != 0 else {
            return "it was built without HTTP/2; install one that is built with nghttp2"
        }
        guard info.pointee.features & CURL_VERSION_SSL != 0 else { return "it was built without TLS" }
        return nil
    }()

    private static func version(_ number: UInt32) -> String {
        "\(number >> 16 & 0xFF).\(number >> 8 & 0xFF).\(number & 0xFF)"
    }

    /// Initializes libcurl (`curl_global_init`), once, and throws if it lacks a needed feature.
    static func initialize() throws(HTTPClientError) {
        if let fault { throw .libraryUnusable(fault) }
    }
}
