internal import CLibwebsockets

/// Stands in front of the library's function of the same name, its own calls included (they go through the PLT).
///
/// With it the library refuses a request that it cannot read, before any of our code sees it: a page of HTML, and 403
/// whatever is wrong. Here that is a problem as for every other request. The library ends the connection afterwards. Should a
/// library one day be linked so that its calls do not come here, the page is back and nothing else changes; a test would tell.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(lws_return_http_status)
public func clwsReturnHTTPStatus(_ wsi: OpaquePointer?, _ status: UInt32, _ page: UnsafePointer<CChar>?) -> Int32 {
    guard let wsi else { return 1 }
    let response =
        status == HTTP_STATUS_FORBIDDEN.rawValue
        ? HTTPResponse.problem(
            400,
            code: "bad_request",
            message: "the request line cannot be read: a method that is not known, no path, or a wrong escape in it"
        )
        : .problem(Int(status), code: "bad_request", message: "the request cannot be read")
    var bytes = response.encoded(headroom: Server.headroom, forHead: false, closing: true)
    return bytes.withUnsafeMutableBufferPointer { bytes in
        guard let base = bytes.baseAddress else { return 1 }
        let count = bytes.count - Server.headroom
        return lws_write(wsi, base + Server.headroom, count, LWS_WRITE_HTTP) == count ? 0 : 1
    }
}
