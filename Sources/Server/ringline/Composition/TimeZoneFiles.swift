import CallPorts
import Glibc
import Threads
import TimeZones

/// The time zones of the system: a folder with TZif files, as the package `tzdata` installs it.
///
/// Each file is read when its zone is first asked for, on the thread that asks, and its rules are then kept in memory:
/// files are small (less than 4 KiB), and few zones are in use. A name without a file is looked up again each time.
final class TimeZoneFiles: TimeZoneSource {
    /// The folder in which Debian and most other systems have the files.
    static let systemFolder = "/usr/share/zoneinfo"

    /// The number of time zones that are kept in memory; tzdata has about 600 names, and so a few MB at most.
    static let maximumCount = 700

    private let folder: String
    private let known = Monitor<[String: TimeZoneRules]>([:])

    /// Creates a source that reads files of this folder; no file is read before a zone is asked for.
    init(folder: String = TimeZoneFiles.systemFolder) { self.folder = folder }

    /// Returns the rules of a time zone, from memory or from its file.
    ///
    /// - Parameter name: A name of the tz database, such as `Europe/Berlin`; it may come from anywhere.
    /// - Returns: `nil` if the name is not valid (`TimeZoneName.isValid(_:)`), or no regular file of this
    ///   name is readable, or it is not a TZif file without leap seconds.
    func rules(named name: String) -> TimeZoneRules? {
        guard TimeZoneName.isValid(name) else { return nil }
        if let rules = known.withLock({ $0[name] }) { return rules }
        // The lock is not held meanwhile: if two threads read the same file, they get the same rules.
        guard let bytes = Self.read("\(folder)/\(name)"),
            // Why a file is unusable does not matter to the caller: the zone is unknown, as without a file.
            let rules = try? TimeZoneRules(tzif: bytes)
        else { return nil }
        known.withLock { known in
            // With more names than tzdata has, any one gives way: its file is read again when it is asked for.
            if known.count >= Self.maximumCount { _ = known.popFirst() }
            known[name] = rules
        }
        return rules
    }

    /// Returns the bytes of a regular file, or `nil`; one byte more than allowed shows that a file is too large.
    private static func read(_ path: String) -> [UInt8]? {
        // Without O_NONBLOCK, opening a named pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while bytes.count <= TimeZoneRules.maximumByteCount {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            bytes += buffer.prefix(count)
        }
        return bytes
    }
}
