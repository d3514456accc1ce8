internal import CLibwebsockets

/// Stands in front of the library's function of the same name, its own calls included (they go through the PLT).
///
/// With it the library refuses a request that it cannot read, before any of our code sees it: a page of HTML, and 403
/// whatever is wrong. Here that is a problem as for every other request, and the connection ends.
///
/// It always says that it failed. Told otherwise, the library goes on with a request that asks for an upgrade it does not
/// know: it completes the transaction, which frees the block of headers if the connection has served a request before, and
/// then asks about the upgrade with a pointer into that block (CVE-2025-11677, not mended in 4.1.6). Should a library one day be
/// linked so that its calls do not come here, the page and the freed block are back; tests would tell.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(lws_return_http_status)
public func clwsReturnHTTPStatus(_ wsi: OpaquePointer?, _ status: UInt32, _ page: UnsafePointer<CChar>?) -> Int32 {
    guard let wsi else { return 1 }
    let response: HTTPResponse
    if status != HTTP_STATUS_FORBIDDEN.rawValue {
        response = .problem(Int(status), code: "bad_request", message: "the request cannot be read")
    } else if HeaderReader(wsi: wsi).has(WSI_TOKEN_UPGRADE) {
        response = .problem(400, code: "bad_handshake", message: "only Upgrade: websocket")
    } else {
        let message = "the request line cannot be read: a method that is not known, no path, or a wrong escape in it"
        response = .problem(400, code: "bad_request", message: message)
    }
    var bytes = response.encoded(headroom: Server.headroom, forHead: false, closing: true)
    bytes.withUnsafeMutableBufferPointer { bytes in
        guard let base = bytes.baseAddress else { return }
        // Whether it got out or not, the connection ends.
        _ = lws_write(wsi, base + Server.headroom, bytes.count - Server.headroom, LWS_WRITE_HTTP)
    }
    return 1
}
