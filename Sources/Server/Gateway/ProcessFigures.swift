import Glibc
import Threads

/// The resources that the process uses, for the metrics that every Prometheus client library has.
struct ProcessFigures {
    /// The processor time since the start, user and kernel, in milliseconds (`getrusage`).
    let cpuMilliseconds: Int64
    /// The memory in RAM, in bytes (`/proc/self/statm`); 0 where there is no `/proc`.
    let residentBytes: Int
    /// The number of descriptors in use.
    let openDescriptors: Int
    /// The largest number of descriptors allowed (`RLIMIT_NOFILE`).
    let maximumDescriptors: Int
    /// When the process began, in milliseconds since 1970.
    let startedAt: Int64

    /// The values that do not change while the process runs.
    struct StartFigures {
        let startedAt = SystemClock.wall()
        /// The number of descriptors that are not connections, counted once at the start, while there are few.
        var ownDescriptors = 0
    }

    /// Reads the current values with a few system calls.
    ///
    /// The cost of these calls does not grow with the number of connections.
    init(_ basis: StartFigures, connections: Int) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        cpuMilliseconds = Self.milliseconds(usage.ru_utime) + Self.milliseconds(usage.ru_stime)
        residentBytes = Self.residentPages() * sysconf(Int32(_SC_PAGESIZE))
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        maximumDescriptors = Int(clamping: limit.rlim_cur)
        startedAt = basis.startedAt
        // Since version 6.2, Linux reports the number of descriptors as the size of the directory `/proc/self/fd`. On
        // an older kernel, listing that directory would stop the loop for longer than a relayed message may take. So
        // the number is estimated: the descriptors at the start plus the connections.
        var folder = stat()
        let isKnown = stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0
        openDescriptors = isKnown ? Int(folder.st_size) : basis.ownDescriptors + connections
    }

    /// Counts the descriptors one by one; to be used only while there are few.
    static func countDescriptors() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Excludes `.`, `..` and the directory's own descriptor.
        return max(0, count - 3)
    }

    private static func milliseconds(_ time: timeval) -> Int64 {
        Int64(time.tv_sec) * 1_000 + Int64(time.tv_usec) / 1_000
    }

    /// Returns the second number in `/proc/self/statm`.
    private static func residentPages() -> Int {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = max(0, read(file, &bytes, bytes.count))
        let words = String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ")
        return words.count > 1 ? Int(words[1]) ?? 0 : 0
    }
}
