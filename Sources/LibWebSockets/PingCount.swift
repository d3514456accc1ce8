internal import CLibwebsockets
internal import Glibc

/// Tells of the pings that peers send.
///
/// The library answers them without a callback, so that a peer could send as many as it likes. It writes each pong by
/// `lws_write`, in front of which the function below stands. Should a library one day be linked so that its calls do not come
/// there, pings are not counted and nothing else changes; a test would tell.
enum PingCount {
    typealias Function =
        @convention(c) (OpaquePointer?, UnsafeMutablePointer<UInt8>?, Int, UInt32) -> Int32

    /// The library's own function (`dlsym` with RTLD_NEXT, which is -1).
    static let original: Function? = {
        dlsym(UnsafeMutableRawPointer(bitPattern: -1), "lws_write").map { unsafeBitCast($0, to: Function.self) }
    }()
}

/// Stands in front of the library's function of the same name, see `PingCount`.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(lws_write)
public func clwsWrite(
    _ wsi: OpaquePointer?,
    _ bytes: UnsafeMutablePointer<UInt8>?,
    _ count: Int,
    _ kind: UInt32
) -> Int32 {
    if kind == LWS_WRITE_PONG.rawValue, let wsi { answersPing(wsi) }
    return PingCount.original?(wsi, bytes, count, kind) ?? -1
}

/// A peer's ping is being answered on one of a server's connections; a client's bears no id of ours.
private func answersPing(_ wsi: OpaquePointer) {
    guard let owner = lws_context_user(lws_get_context(wsi)),
        let id = ConnectionID(opaque: lws_get_opaque_user_data(wsi))
    else { return }
    Unmanaged<Server>.fromOpaque(owner)._withUnsafeGuaranteedRef { $0.pingReceived(id) }
}
