internal import CLibwebsockets

/// A one-shot timer on a server's event loop, beside the timer of ``Server/setTimer(afterMilliseconds:)``.
///
/// It belongs to the thread of its server, including its release. It is disarmed when it is released, and when the
/// server ends.
package final class LoopTimer {
    private unowned let server: Server
    private let fired: () -> Void
    /// The handle; nil once the server has ended.
    private var handle: UnsafeMutablePointer<uv_timer_t>?

    /// Creates a timer that is not armed.
    ///
    /// - Parameters:
    ///   - server: The server on whose loop the timer runs.
    ///   - fired: Called on the loop's thread; ``ServerDelegate/loopTurned()`` follows. The timer holds it.
    package init(on server: Server, fired: @escaping () -> Void) {
        server.checkThread()
        self.server = server
        self.fired = fired
        guard !server.streams.isOver else { return }
        let handle = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
        uv_timer_init(server.handles.loop, handle)
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        server.streams.timers.insert(handle)
        self.handle = handle
    }

    deinit {
        guard let handle else { return }
        server.checkThread()
        server.streams.timers.remove(handle)
        closeHandle()
    }

    /// Arms the timer to fire once after this time, in place of the time that was set before.
    ///
    /// - Parameter milliseconds: nil disarms it.
    package func set(afterMilliseconds milliseconds: UInt64?) {
        guard let handle else { return }
        server.checkThread()
        guard let milliseconds else {
            uv_timer_stop(handle)
            return
        }
        // libuv counts from the beginning of the current turn, which may be long ago.
        uv_update_time(server.handles.loop)
        uv_timer_start(handle, clwsLoopTimer, milliseconds, 0)
    }

    func fire() {
        server.hasWorkedThisTurn = true
        fired()
    }

    /// Closes the handle without a word to the server, which may be ending.
    func closeHandle() {
        guard let handle else { return }
        self.handle = nil
        LoopHandles.closeAndFree(handle)
    }
}
