import Glibc
import Testing

@testable import ringline

/// A pipe of the smallest size; nothing reads from it except the test itself.
private final class Pipe {
    private(set) var reading: Int32
    let writing: Int32
    let size: Int

    init() {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        (reading, writing) = (ends[0], ends[1])
        // 1031 is F_SETPIPE_SZ, which is not imported into Swift.
        size = Int(fcntl(writing, 1031, 4_096))
    }

    deinit {
        stopReading()
        close(writing)
    }

    func stopReading() {
        if reading >= 0 { close(reading) }
        reading = -1
    }

    /// Reads lines until one of them satisfies `isLast`, or until there are no more; returns all of them.
    func lines(until isLast: (String) -> Bool) -> [String] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
                .map { String(decoding: $0, as: UTF8.self) }
            if lines.contains(where: isLast) { return lines }
            let count = read(reading, &buffer, buffer.count)
            guard count > 0 else { return lines }
            bytes += buffer.prefix(count)
        }
    }
}

@Suite("Log lines", .serialized)
struct LogWriterTests {
    private static func line(_ number: Int) -> [UInt8] {
        let text = "line \(number) "
        return Array((text + String(repeating: "x", count: 99 - text.count) + "\n").utf8)
    }

    private static func notice(_ dropped: UInt64) -> [UInt8] { Array("dropped \(dropped)\n".utf8) }

    @Test("A stalled reader delays no writer; lines without room are dropped and counted, and their number is written")
    func stalled() {
        let pipe = Pipe()
        let writer = LogWriter(to: pipe.writing, limit: 20_000, notice: Self.notice)
        // This thread reads only later. If writing waited for the reader, the test would never end.
        for number in 0..<1_000 { writer.write(Self.line(number)) }
        let dropped = writer.dropped
        #expect(dropped >= 1_000 - 200 - UInt64(pipe.size) / 100 && dropped < 1_000)
        var lines = pipe.lines { $0.hasPrefix("dropped") }
        writer.write(Self.line(1_000))
        lines += pipe.lines { $0.hasPrefix("line 1000 ") }
        // The lines and the numbers in the notices account for all lines, in order.
        var expected = 0
        for line in lines {
            let words = line.split(separator: " ")
            if words[0] == "dropped" {
                expected += Int(words[1]) ?? 0
            } else {
                #expect(words[1] == "\(expected)" && line.utf8.count == 99)
                expected += 1
            }
        }
        #expect(expected == 1_001 && writer.dropped >= dropped)
    }

    @Test("Lines are written whole and in order to a pipe that does not block")
    func nonblocking() {
        let pipe = Pipe()
        _ = fcntl(pipe.writing, F_SETFL, O_NONBLOCK)
        let writer = LogWriter(to: pipe.writing, limit: 1 << 20, notice: Self.notice)
        for number in 0..<1_000 { writer.write(Self.line(number)) }
        let lines = pipe.lines { $0.hasPrefix("line 999 ") }
        #expect(lines.map { $0.split(separator: " ")[1] } == (0..<1_000).map { "\($0)" })
        #expect(writer.dropped == 0)
    }

    @Test("Lines gather during the pause after a write, so few writes carry many lines")
    func gathered() {
        // Each write is one packet, and the packets cannot be merged.
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let writer = LogWriter(to: ends[1], notice: Self.notice)
        let began = ContinuousClock.now
        for number in 0..<200 {
            writer.write(Self.line(number))
            // Without the pause, each line would be written before the next is made.
            LogWriter.waitUntilWritten(limitMilliseconds: 1)
        }
        LogWriter.waitUntilWritten(limitMilliseconds: 5_000)
        let pauses = (ContinuousClock.now - began) / .milliseconds(LogWriter.pauseMilliseconds)
        var (writes, lines) = (0, 0)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while lines < 200 {
            let count = read(ends[0], &buffer, buffer.count)
            guard count > 0 else { break }
            (writes, lines) = (writes + 1, lines + count / 100)
        }
        #expect(lines == 200)
        // One write before the first pause, one after each pause, and one more for every 40 lines: a write takes 4,096
        // bytes.
        #expect(Double(writes) <= pauses + 1 + 200 / 40)
    }

    @Test("A line that is half written when the log moves to another file is completed in the first file")
    func moved() throws {
        let pipe = Pipe()
        for end in [pipe.reading, pipe.writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        let descriptor = dup(pipe.writing)
        let path = "/tmp/ringline-log-\(UInt64.random(in: 0...UInt64.max))"
        defer {
            close(descriptor)
            unlink(path)
        }
        let writer = LogWriter(to: descriptor, notice: Self.notice)
        let long = Array(String(repeating: "x", count: 10 * pipe.size).utf8) + [0x0A]
        writer.write(long)
        var received: [UInt8] = []
        func receive(_ most: Int) {
            var buffer = [UInt8](repeating: 0, count: most)
            let count = read(pipe.reading, &buffer, most)
            received += buffer.prefix(max(0, count))
        }
        // After one byte is read, the pipe still has no room for more bytes, because it has only one page.
        for _ in 0..<5_000 where received.isEmpty {
            usleep(1_000)
            receive(1)
        }
        writer.move(to: open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600))
        writer.write(Self.line(1))
        for _ in 0..<2_000 where received.count < long.count {
            usleep(1_000)
            receive(65_536)
        }
        let isWhole = received == long
        #expect(isWhole, "\(received.count) of \(long.count) bytes")
        LogWriter.waitUntilWritten(limitMilliseconds: 5_000)
        let file = open(path, O_RDONLY)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = read(file, &bytes, bytes.count)
        #expect(Array(bytes.prefix(max(0, count))) == Self.line(1))
        #expect(writer.dropped == 0)
    }

    @Test("Lines that cannot be written are counted")
    func lost() {
        // SIGPIPE is ignored in the whole process, because the other suites in it write to sockets, too.
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        let writer = LogWriter(to: pipe.writing, notice: Self.notice)
        pipe.stopReading()
        writer.write(Self.line(0))
        LogWriter.waitUntilWritten(limitMilliseconds: 5_000)
        while writer.dropped == 0 { sched_yield() }
        #expect(writer.dropped == 1)
    }

    @Test("All lines are written before `waitUntilWritten` returns")
    func settled() {
        let pipe = Pipe()
        let writer = LogWriter(to: pipe.writing, notice: Self.notice)
        for number in 0..<30 { writer.write(Self.line(number)) }
        LogWriter.waitUntilWritten(limitMilliseconds: 5_000)
        _ = fcntl(pipe.reading, F_SETFL, O_NONBLOCK)
        #expect(pipe.lines { _ in false }.count == 30)
    }

    @Test("After a line that a full disk has cut off, the next line begins on a line of its own")
    func torn() throws {
        signal(SIGXFSZ, SIG_IGN)
        let path = "/tmp/ringline-log-\(UInt64.random(in: 0...UInt64.max))"
        let file = open(path, O_RDWR | O_CREAT | O_APPEND, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        // A limit on the size of this process's files simulates a full disk. No other file of the tests is nearly that
        // large.
        let start = 1 << 36
        ftruncate(file, start)
        var before = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &before)
        func limit(_ bytes: rlim_t) {
            var limit = before
            limit.rlim_cur = bytes
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        }
        defer { limit(before.rlim_cur) }
        limit(rlim_t(start + 130))
        let writer = LogWriter(to: file, notice: Self.notice)
        for number in 0..<2 { writer.write(Self.line(number)) }
        for _ in 0..<5_000 where writer.dropped == 0 { usleep(1_000) }
        #expect(writer.dropped > 0)
        limit(before.rlim_cur)
        writer.write(Self.line(2))
        var text = ""
        for _ in 0..<5_000 where !text.contains("line 2 ") {
            var bytes = [UInt8](repeating: 0, count: 1_000)
            let count = pread(file, &bytes, bytes.count, start)
            text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
            usleep(1_000)
        }
        let lines = text.split(separator: "\n")
        #expect(lines.first?.hasPrefix("line 0 ") == true && lines.contains { $0.hasPrefix("line 2 ") }, "\(lines)")
    }
}
