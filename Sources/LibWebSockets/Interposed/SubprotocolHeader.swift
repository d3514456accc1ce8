internal import CLibwebsockets

/// Replaces the library's function of the same name, also for the library's own calls (they go through the PLT).
///
/// `lws_process_ws_upgrade` copies `Sec-WebSocket-Protocol` into 127 bytes and drops the connection if the header is
/// longer. But this header is the only one in which a browser can send its token (`ringline.v1, bearer.<JWT>`), and a
/// JWT has more than 127 bytes. By the time of this call, our server has read the header and has decided on the
/// upgrade. So for such upgrades this function returns only the chosen name. It copies every other header as the
/// library does.
///
/// If a future library is linked so that its calls do not reach this function, long lists are refused again and nothing
/// else changes; a test would fail then.
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
    let token = lws_token_indexes(rawValue: token)
    to[0] = 0
    if token == WSI_TOKEN_PROTOCOL, let chosen = chosenSubprotocol(of: wsi) {
        let bytes = chosen.utf8CString
        guard bytes.count <= Int(room) else { return -1 }
        for (index, byte) in bytes.enumerated() { to[index] = byte }
        return Int32(bytes.count - 1)
    }
    let total = lws_hdr_total_length(wsi, token)
    guard total > 0 else { return 0 }
    guard total < room else { return -1 }
    let separator = CChar(UInt8(ascii: ","))
    var used: Int32 = 0
    var index: Int32 = 0
    while true {
        let count = lws_hdr_copy_fragment(wsi, to + Int(used), room - used, token, index)
        guard count >= 0 else { break }
        used += count
        index += 1
        // There is another piece while fewer bytes were copied than announced. Pieces of cookies are joined without a
        // separator.
        guard used < total else { break }
        guard token != WSI_TOKEN_HTTP_COOKIE else { continue }
        to[Int(used)] = separator
        used += 1
    }
    to[Int(min(used, room - 1))] = 0
    return total
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
