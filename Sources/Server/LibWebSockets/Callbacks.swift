internal import CLibwebsockets

// The C callbacks: each finds the server and calls one of its methods.

@inline(__always)
private func server<Result>(_ owner: UnsafeMutableRawPointer?, _ body: (Server) -> Result) -> Result? {
    guard let owner else { return nil }
    // The server outlives its context and its handles: `tearDown` releases both, at the latest in the server's deinit.
    return Unmanaged<Server>.fromOpaque(owner)._withUnsafeGuaranteedRef(body)
}

@c
func clwsServerEvent(
    _ wsi: OpaquePointer?,
    _ reason: lws_callback_reasons,
    _ user: UnsafeMutableRawPointer?,
    _ bytes: UnsafeMutableRawPointer?,
    _ count: Int
) -> Int32 {
    guard let wsi else { return 0 }
    return server(lws_context_user(lws_get_context(wsi))) { server in
        server.libraryReported(wsi, reason, user, bytes, count)
    } ?? 0
}

@c
func clwsPosted(_ handle: UnsafeMutablePointer<uv_async_t>?) {
    server(handle?.pointee.data) { $0.runPostedWork() }
}

@c
func clwsOwnerTimer(_ handle: UnsafeMutablePointer<uv_timer_t>?) {
    server(handle?.pointee.data) { $0.ownerTimerFired() }
}

@c
func clwsDeadlineTimer(_ handle: UnsafeMutablePointer<uv_timer_t>?) {
    server(handle?.pointee.data) { $0.checkDeadlines() }
}

@c
func clwsChecked(_ handle: UnsafeMutablePointer<uv_check_t>?) {
    server(handle?.pointee.data) { $0.finishTurn() }
}

@c
func clwsPrepared(_ handle: UnsafeMutablePointer<uv_prepare_t>?) {
    server(handle?.pointee.data) { $0.finishTurn() }
}

@c
func clwsPeersWatched(_ handle: UnsafeMutablePointer<uv_poll_t>?, _ status: Int32, _ events: Int32) {
    server(handle?.pointee.data) { $0.peersReported() }
}

@c
func clwsListenerReadable(_ handle: UnsafeMutablePointer<uv_poll_t>?, _ status: Int32, _ events: Int32) {
    guard let handle else { return }
    server(handle.pointee.data) { $0.accept(on: handle) }
}

@c
func clwsHandleClosed(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
    // libuv does not use the memory of a closed handle any more.
    UnsafeMutableRawPointer(handle)?.deallocate()
}
