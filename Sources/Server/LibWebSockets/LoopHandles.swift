internal import CLibwebsockets

/// The libuv loop and the server's own handles on it.
///
/// For libwebsockets this is a foreign loop: the server runs and stops it, and the library installs no signal handlers.
/// The library's own signal handlers would leave a crashed process spinning.
struct LoopHandles {
    let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
    let async = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
    let ownerTimer = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
    let deadlineTimer = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
    let check = UnsafeMutablePointer<uv_check_t>.allocate(capacity: 1)
    let prepare = UnsafeMutablePointer<uv_prepare_t>.allocate(capacity: 1)
    let peerPoll = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)

    init() throws(ServerError) {
        guard uv_loop_init(loop) == 0 else { throw .eventLoop("uv_loop_init failed") }
    }

    func start(owner: UnsafeMutableRawPointer, peerWatch: Int32) {
        uv_async_init(loop, async, clwsPosted)
        uv_timer_init(loop, ownerTimer)
        uv_timer_init(loop, deadlineTimer)
        uv_check_init(loop, check)
        uv_prepare_init(loop, prepare)
        uv_poll_init(loop, peerPoll, peerWatch)
        async.pointee.data = owner
        ownerTimer.pointee.data = owner
        deadlineTimer.pointee.data = owner
        check.pointee.data = owner
        prepare.pointee.data = owner
        peerPoll.pointee.data = owner
        // The end of a turn is handled after the sockets and again before waiting for them: the results of timers must
        // not wait for the next socket event.
        uv_check_start(check, clwsChecked)
        uv_prepare_start(prepare, clwsPrepared)
        uv_poll_start(peerPoll, Int32(UV_READABLE.rawValue), clwsPeersWatched)
    }

    func close() {
        for handle in [raw(async), raw(ownerTimer), raw(deadlineTimer), raw(check), raw(prepare), raw(peerPoll)] {
            uv_close(handle, nil)
        }
    }

    /// Returns a new TCP handle without a socket; free it with ``closeAndFree(_:)``.
    static func makeTCP(on loop: UnsafeMutablePointer<uv_loop_t>) -> UnsafeMutablePointer<uv_tcp_t> {
        let handle = UnsafeMutablePointer<uv_tcp_t>.allocate(capacity: 1)
        uv_tcp_init(loop, handle)
        return handle
    }

    /// Closes a handle that was allocated alone; libuv's report of the end frees it.
    ///
    /// Callbacks that still come for the handle find no owner in it.
    static func closeAndFree<Handle>(_ handle: UnsafeMutablePointer<Handle>) {
        let handle = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        handle.pointee.data = nil
        uv_close(handle, clwsHandleClosed)
    }

    /// Frees the handles; call it when no handle is active on the loop any more.
    func free() {
        uv_loop_close(loop)
        loop.deallocate()
        async.deallocate()
        ownerTimer.deallocate()
        deadlineTimer.deallocate()
        check.deallocate()
        prepare.deallocate()
        peerPoll.deallocate()
    }

    private func raw<Handle>(_ handle: UnsafeMutablePointer<Handle>) -> UnsafeMutablePointer<uv_handle_t> {
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
    }
}
