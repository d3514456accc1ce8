import CCurl

/// libcurl as a whole.
enum CurlLibrary {
    /// The oldest libcurl with all that we use (`CURLOPT_QUICK_EXIT`, 7.87.0).
    private static let oldest: UInt32 = 0x07_57_00

    private static let fault: String? = {
        // Thread-safe since 7.84, and here made once besides.
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else { return "it does not start" }
        guard let info = ringline_curl_version() else { return "it does not tell its version" }
        guard info.pointee.version_num >= oldest else { return "it is older than 7.87" }
        guard info.pointee.features & CURL_VERSION_HTTP2 != 0 else { return "it was built without HTTP/2" }
        guard info.pointee.features & CURL_VERSION_SSL != 0 else { return "it was built without TLS" }
        return nil
    }()

    /// Starts libcurl (`curl_global_init`), once, and looks whether it can do what is needed.
    static func ready() throws(HTTPClientError) {
        if let fault { throw .libraryUnusable(fault) }
    }
}
