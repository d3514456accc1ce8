internal import CLibwebsockets
internal import Glibc

/// Shows the library a subprotocol header that it can copy.
///
/// `lws_process_ws_upgrade` copies `Sec-WebSocket-Protocol` into 127 bytes and drops the connection if the header is
/// longer. But this header is the only one in which a browser can send its token (`ringline.v1, bearer.<JWT>`), and a
/// JWT has more than 127 bytes. By the time of this call, our server has read the header and has decided on the
/// upgrade. So for such upgrades the function below returns only the chosen name; the library copies every other header.
///
/// If a future library is linked so that its calls do not reach that function, long lists are refused again and nothing
/// else changes; a test would fail then.
enum SubprotocolHeader {
    typealias Function = @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int32, UInt32) -> Int32

    /// The library's original function (`dlsym` with RTLD_NEXT, which is -1).
    static let original: Function? = {
        dlsym(UnsafeMutableRawPointer(bitPattern: -1), "lws_hdr_copy").map { unsafeBitCast($0, to: Function.self) }
    }()
}

/// Replaces the library's function of the same name, also for the library's own calls (they go through the PLT).
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(lws_hdr_copy)
public func clwsHeaderCopy(
    _ wsi: OpaquePointer?,
    _ to: UnsafeMutablePointer<CChar>?,
    _ room: Int32,
    _ token: UInt32
)
    -> Int32
{
    guard let wsi, let to, room > 0 else { return -1 }
    if lws_token_indexes(rawValue: token) == WSI_TOKEN_PROTOCOL, let chosen = chosenSubprotocol(of: wsi) {
        let bytes = chosen.utf8CString
        guard bytes.count <= Int(room) else { return -1 }
        for (index, byte) in bytes.enumerated() { to[index] = byte }
        return Int32(bytes.count - 1)
    }
    return SubprotocolHeader.original?(wsi, to, room, token) ?? -1
}

/// Returns the subprotocol of the upgrade in progress; empty for no subprotocol, nil outside of an upgrade on our
/// servers.
private func chosenSubprotocol(of wsi: OpaquePointer) -> String? {
    guard let entry = lws_get_protocol(wsi), entry.pointee.id == LibraryContext.protocolMark,
        let owner = lws_context_user(lws_get_context(wsi))
    else { return nil }
    return Unmanaged<Server>.fromOpaque(owner)._withUnsafeGuaranteedRef { server in
        guard let chosen = server.chosenSubprotocol else { return nil }
        server.chosenSubprotocol = nil
        return chosen ?? ""
    }
}
