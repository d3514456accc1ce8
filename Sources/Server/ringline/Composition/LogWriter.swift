import Glibc
import Synchronization
import Threads

/// Writes log lines on a thread of its own, so that the event loop never waits for a reader of stderr.
///
/// If there is no room for a line, the line is dropped and counted, and the log reports the count. A stalled reader
/// thus costs lines, but never calls.
final class LogWriter: Sendable {
    /// The bytes of lines that may wait: about 2,000 lines, which is one second of a busy server.
    static let limit = 256 << 10
    /// The pause of the writing thread after lines, in milliseconds, in which further lines gather.
    ///
    /// Without the pause, each line of a busy server would wake the thread, and waking it costs the event loop more
    /// than making the line.
    static let pauseMilliseconds = 2
    /// The size up to which a write to a pipe is atomic, so that no other process's output is mixed in (`PIPE_BUF`).
    private static let atomicBytes = 4_096
    /// The bytes that wait in all writers of the process, for ``waitUntilWritten(limitMilliseconds:)``.
    private static let pending = Atomic<Int>(0)

    private let inbox: Inbox<[UInt8]>
    private let lost: Counter
    private let successor: Successor
    /// The writing thread; `nil` if the system refused one.
    ///
    /// Without a writing thread, the thread that logs a line also writes the line.
    private let thread: WorkThread?
    private let descriptor: Int32

    /// A counter that the writing thread shares with ``dropped``.
    private final class Counter: Sendable {
        let value = Atomic<UInt64>(0)
    }

    /// Starts the thread.
    /// - Parameters:
    ///   - descriptor: Where lines are written; default stderr.
    ///   - limit: The bytes of lines that may wait.
    ///   - notice: Makes the line that reports how many lines were dropped.
    init(
        to descriptor: Int32 = 2,
        limit: Int = LogWriter.limit,
        notice: @escaping @Sendable (_ dropped: UInt64) -> [UInt8]
    ) {
        let (inbox, lost, successor) = (Inbox<[UInt8]>(limit: limit), Counter(), Successor())
        (self.inbox, self.lost, self.successor, self.descriptor) = (inbox, lost, successor, descriptor)
        // Without a thread, logging is as slow as the reader of its output, which is better than no log.
        thread = try? WorkThread(named: "log") {
            var sink = Sink(descriptor, successor)
            while let taken = inbox.takeAll() {
                var dropped = taken.refused
                dropped += sink.write(taken.elements)
                let bytes = taken.elements.reduce(0) { $0 + $1.count }
                Self.pending.wrappingSubtract(bytes, ordering: .relaxed)
                if dropped > 0 {
                    lost.value.wrappingAdd(dropped - taken.refused, ordering: .relaxed)
                    _ = sink.write([notice(dropped)])
                }
                // The lines that were taken last count towards the limit until the next are taken, so a pause after many
                // would cost lines.
                if dropped == 0, bytes <= limit / 2 { pause(milliseconds: Self.pauseMilliseconds) }
            }
        }
    }

    deinit { inbox.close() }

    /// Writes to the file of `new` from the next line on, and then closes `new`; returns immediately.
    ///
    /// The writing thread changes files itself, between two lines. Otherwise one half of a line could get into the old
    /// file and the other half into the new one.
    func move(to new: Int32) {
        let unused = successor.descriptor.exchange(new, ordering: .acquiringAndReleasing)
        if unused >= 0 { close(unused) }
    }

    /// The file to which the writing thread has to change; -1 if there is none.
    private final class Successor: Sendable {
        let descriptor = Atomic<Int32>(-1)

        deinit { if descriptor.load(ordering: .relaxed) >= 0 { close(descriptor.load(ordering: .relaxed)) } }

        /// Makes a descriptor refer to the other file, if there is one; returns whether there was one.
        func replace(_ old: Int32) -> Bool {
            guard descriptor.load(ordering: .relaxed) >= 0 else { return false }
            let new = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
            guard new >= 0 else { return false }
            dup2(new, old)
            _ = fcntl(old, F_SETFD, FD_CLOEXEC)
            close(new)
            return true
        }
    }

    /// The number of lines that were never written.
    var dropped: UInt64 { inbox.refusedCount + lost.value.load(ordering: .relaxed) }

    /// Queues a complete line, including its newline, and returns immediately.
    func write(_ line: [UInt8]) {
        guard thread != nil else {
            _ = successor.replace(descriptor)
            _ = Self.write(line, to: descriptor)
            return
        }
        // The bytes are counted before the line is queued. Otherwise the thread could write the line and subtract its
        // bytes first.
        Self.pending.wrappingAdd(line.count, ordering: .relaxed)
        if !inbox.put(line, weight: line.count) { Self.pending.wrappingSubtract(line.count, ordering: .relaxed) }
    }

    /// Waits until all lines are written, or until the time limit; called at the end of the process.
    ///
    /// This function takes no lock and allocates nothing, so a handler of a fatal signal may call it too.
    static func waitUntilWritten(limitMilliseconds: Int) {
        for _ in 0..<limitMilliseconds {
            guard pending.load(ordering: .relaxed) > 0 else { return }
            pause(milliseconds: 1)
        }
    }

    /// The output, and whether the last line written there is incomplete.
    private struct Sink {
        let descriptor: Int32
        /// Whether part of a line was written and the rest failed; the next line then starts after a newline of its
        /// own.
        private var isTorn = false
        private let successor: Successor

        init(_ descriptor: Int32, _ successor: Successor) {
            self.descriptor = descriptor
            self.successor = successor
        }

        /// Writes lines, several in one write, and returns how many could not be written.
        mutating func write(_ lines: [[UInt8]]) -> UInt64 {
            var failed: UInt64 = 0
            var group: [UInt8] = []
            var count: UInt64 = 0
            for line in lines {
                if group.count + line.count > LogWriter.atomicBytes {
                    if !group.isEmpty, !write(group) { failed += count }
                    group.removeAll(keepingCapacity: true)
                    count = 0
                }
                group += line
                count += 1
            }
            if !group.isEmpty, !write(group) { failed += count }
            return failed
        }

        private mutating func write(_ group: [UInt8]) -> Bool {
            if successor.replace(descriptor) { isTorn = false }
            let bytes = isTorn ? [0x0A] + group : group
            let written = LogWriter.write(bytes, to: descriptor)
            if written > 0 { isTorn = bytes[written - 1] != 0x0A }
            return written == bytes.count
        }
    }

    /// Writes as many of the bytes as possible and returns how many were written.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int {
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
                if count > 0 {
                    written += count
                } else if errno == EAGAIN {
                    // The process that made the pipe set it to non-blocking; this thread may wait.
                    var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&room, 1, -1)
                } else if errno != EINTR {
                    break
                }
            }
            return written
        }
    }
}

/// Lets the calling thread sleep; a signal ends the sleep early.
private func pause(milliseconds: Int) {
    var time = timespec(tv_sec: 0, tv_nsec: milliseconds * 1_000_000)
    nanosleep(&time, nil)
}
