internal import CLibwebsockets
internal import Threads

/// Work from other threads on its way to the event loop.
///
/// The loop is woken once, however much work is posted before it runs. It is woken with `uv_async_send`, which is safe
/// from any thread while its handle is open; the handle is closed only after the mailbox dropped it under the same
/// lock.
final class Mailbox: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var isStopping = false
        /// Non-nil while the event loop may be woken.
        var wake: Wake?
    }

    /// The handle that any thread may use, as described above.
    private struct Wake: @unchecked Sendable {
        let async: UnsafeMutablePointer<uv_async_t>
    }

    private let state = Locked(State())

    func open(_ async: UnsafeMutablePointer<uv_async_t>) {
        let wake = Wake(async: async)
        state.withLock { state in
            state.wake = wake
            if !state.work.isEmpty || state.isStopping { uv_async_send(wake.async) }
        }
    }

    /// Closes the mailbox; afterwards no thread uses the handle.
    func close() {
        let left = state.withLock { state in
            state.wake = nil
            let left = state.work
            state.work = []
            return left
        }
        // Released outside the lock: a closure's captured values may post work when they are released.
        _ = left
    }

    func post(_ work: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.work.append(work)
            if state.work.count == 1, let wake = state.wake { uv_async_send(wake.async) }
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopping = true
            if let wake = state.wake { uv_async_send(wake.async) }
        }
    }

    /// Returns the work posted since the last call, and whether to stop after it.
    func take() -> (work: [@Sendable () -> Void], stops: Bool) {
        state.withLock { state in
            let work = state.work
            state.work = []
            return (work, state.isStopping)
        }
    }
}
