import Glibc
import Threads

/// Work that a command repeats until it is done, or until the user presses Ctrl-C.
struct Repetition {
    private let isStopped = Monitor(false)

    /// From here on, Ctrl-C and SIGTERM end the waits.
    init() {
        let watch = SignalWatch()
        watch.start { [isStopped] in isStopped.withLock { $0 = true } }
    }

    /// Waits; returns false if the user has pressed Ctrl-C.
    func wait(milliseconds: Int) -> Bool {
        isStopped.wait(until: .now + .milliseconds(milliseconds), for: { $0 ? true : nil }) == nil
    }
}
