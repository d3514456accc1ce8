internal import CLibwebsockets
import CallPorts
internal import Glibc

/// Reports the pings that peers send.
///
/// The library answers pings without a callback, so a peer could send any number of them unnoticed. It writes each pong
/// with `lws_write`, which the function below replaces. If a future library is linked so that its calls do not reach
/// that function, pings are not reported and nothing else changes; a test would fail then.
enum PingReport {
    typealias Function =
        @convention(c) (OpaquePointer?, UnsafeMutablePointer<UInt8>?, Int, UInt32) -> Int32

    /// The library's original function (`dlsym` with RTLD_NEXT, which is -1).
    static let original: Function? = {
        dlsym(UnsafeMutableRawPointer(bitPattern: -1), "lws_write").map { unsafeBitCast($0, to: Function.self) }
    }()
}

/// Replaces the library's function of the same name, see `PingReport`.
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
    return PingReport.original?(wsi, bytes, count, kind) ?? -1
}

/// Reports a ping that is being answered on a server's connection; a client's connection has no id of ours.
private func answersPing(_ wsi: OpaquePointer) {
    guard let owner = lws_context_user(lws_get_context(wsi)),
        let id = SocketID(opaque: lws_get_opaque_user_data(wsi))
    else { return }
    Unmanaged<Server>.fromOpaque(owner)._withUnsafeGuaranteedRef { $0.pingReceived(id) }
}
