internal import CLibwebsockets
import CallPorts
internal import CallWire

/// Replaces the library's function of the same name, also for the library's own calls (they go through the PLT).
///
/// The library uses this function to refuse a request that it cannot read, before any of our code sees the request. The
/// library's function would send a page of HTML, with 403 for any fault. This function sends a problem response, as
/// other refusals do, and the connection ends.
///
/// This function always returns failure. After a success, the library would continue with a request that asks for an
/// unknown upgrade. The library would complete the transaction, which frees the header block if the connection has
/// served a request before. Then the library would ask about the upgrade with a pointer into the freed block
/// (CVE-2025-11677, not fixed in Debian 12).
///
/// If a future library is linked so that its calls do not reach this function, the HTML page and the use of the freed
/// block return; tests would fail then.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(lws_return_http_status)
public func clwsReturnHTTPStatus(_ wsi: OpaquePointer?, _ status: UInt32, _ page: UnsafePointer<CChar>?) -> Int32 {
    guard let wsi else { return 1 }
    let headers = HeaderReader(wsi: wsi)
    let response: Response
    if status != HTTP_STATUS_FORBIDDEN.rawValue {
        response = .problem(Int(status), code: "bad_request", message: "unreadable request")
    } else if headers.has(WSI_TOKEN_UPGRADE) {
        response = .problem(400, code: "bad_handshake", message: "only Upgrade: websocket is supported")
    } else {
        let message = "unreadable request line: unknown method, missing path or invalid escape"
        response = .problem(400, code: "bad_request", message: message)
    }
    let isHead = headers.has(WSI_TOKEN_HEAD_URI)
    var bytes = response.encoded(headroom: Frame.headroom, forHead: isHead, closing: true)
    bytes.withUnsafeMutableBufferPointer { bytes in
        guard let base = bytes.baseAddress else { return }
        // The connection ends, whether the response was sent or not.
        _ = lws_write(wsi, base + Frame.headroom, bytes.count - Frame.headroom, LWS_WRITE_HTTP)
    }
    return 1
}
