import CallCore
import CallPorts
import CallWire
import FoundationEssentials
import Glibc
import SQLiteStore

extension Doctor {
    /// Checks the data folder: whether it is writable, on which kind of file system it is, and whether its database is
    /// usable.
    func dataFolder() -> [Finding] {
        let subject = "data folder"
        guard !settings.isInMemory else {
            return [
                .warning(subject, ":memory: keeps nothing: a restart forgets calls and devices", fix: "give --data DIR")
            ]
        }
        var isFolder = false
        guard FileManager.default.fileExists(atPath: settings.data, isDirectory: &isFolder) else {
            return [missingFolder(subject)]
        }
        let owner = "it must be a folder that belongs to the user that runs ringline"
        guard isFolder else { return [.error(subject, "\(settings.data) is no folder", fix: owner)] }
        guard let path = Self.realPath(settings.data) else {
            return [.error(subject, "\(settings.data) cannot be written", fix: owner)]
        }
        if let obstacle = Self.obstacle(toWritingIn: path) {
            let fix =
                switch obstacle {
                case ENOSPC, EDQUOT: "free some space on its disk"
                case EROFS: "mount its file system for writing"
                default: owner
                }
            let why = String(cString: strerror(obstacle)).lowercased()
            return [.error(subject, "\(settings.data) cannot be written: \(why)", fix: fix)]
        }
        return [Self.fileSystem(MountTable().kind(of: path), path), database()].compactMap { $0 }
    }

    private func missingFolder(_ subject: String) -> Finding {
        let path = settings.data
        var parent = path.hasPrefix("/") ? path : "./\(path)"
        while !FileManager.default.fileExists(atPath: parent), let slash = parent.lastIndex(of: "/") {
            parent = slash == parent.startIndex ? "/" : String(parent[..<slash])
        }
        guard access(parent, W_OK | X_OK) == 0 else {
            return .error(
                subject,
                "\(path) is not there and cannot be made",
                fix: "make it, for the user that runs ringline"
            )
        }
        // A problem with the file system is reported before the folder is made. A sound file system is reported only
        // once the folder exists.
        let there = Self.realPath(parent).map { Self.fileSystem(MountTable().kind(of: $0), path) }
        guard let there, there.grade != .ok else {
            return .ok(subject, "\(path) is not there yet, and can be made")
        }
        return there
    }

    /// Checks, without writing a line, whether the audit log can be written; `nil` if none is configured.
    func auditLog() -> Finding? {
        guard let path = settings.auditLog, path != "-" else { return nil }
        let isThere = access(path, F_OK) == 0
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard access(isThere ? path : folder, isThere ? W_OK : W_OK | X_OK) == 0 else {
            return .error(
                "audit log",
                "\(path) cannot be written: \(String(cString: strerror(errno)).lowercased())",
                fix: "let its folder be there and belong to the user that runs ringline"
            )
        }
        return .ok("audit log", "\(path) can be \(isThere ? "appended to" : "made")")
    }

    /// Rates a kind of file system for a database that relies on working locks and a working `fsync`.
    static func fileSystem(_ kind: String?, _ path: String) -> Finding {
        let subject = "data folder"
        guard let kind else {
            let fix = "look at it with findmnt: a disk of this machine is wanted"
            return .warning(subject, "\(path): on what file system it lies cannot be told", fix: fix)
        }
        let network = [
            "nfs", "cifs", "smb", "fuse", "9p", "ceph", "afs", "glusterfs", "lustre", "gfs", "ocfs", "vboxsf",
        ]
        if network.contains(where: { kind.hasPrefix($0) }) {
            return .error(
                subject,
                "\(path) lies on \(kind), where SQLite's locks and write-ahead log do not hold",
                fix: "a disk of this machine: ext4, xfs or the like"
            )
        }
        switch kind {
        case "tmpfs", "ramfs":
            return .warning(subject, "\(path) lies on \(kind): a restart of the machine forgets it", fix: "a disk")
        case "overlay":
            return .warning(
                subject,
                "\(path) lies in the container's own layer, which goes with the container",
                fix: "mount a volume there"
            )
        default: return .ok(subject, "\(path) can be written and lies on \(kind)")
        }
    }

    private func database() -> Finding? {
        guard access("\(settings.data)/ringline.sqlite", F_OK) == 0 else { return nil }
        do throws(StoreFailure) {
            _ = try SQLiteCallStore.reader(folder: settings.data).bundleIDs(limit: 1)
            return .ok("database", "it is there and can be read")
        } catch {
            return error.message.contains("older ringline")
                ? .warning("database", error.message, fix: "the next start brings it up to date; back it up before")
                : .error("database", error.message, fix: "put a back-up in its place, or look who may read it")
        }
    }

    /// Returns the bundle ids of the registered devices.
    func registeredBundles() -> [String] {
        guard !settings.isInMemory else { return [] }
        // A problem with the database has a finding of its own.
        return (try? SQLiteCallStore.reader(folder: settings.data).bundleIDs(limit: 8)) ?? []
    }

    /// Returns why no file can be written there (`errno`), or nil.
    ///
    /// It writes a file, because a full disk and a read-only file system are writable by their mode bits.
    private static func obstacle(toWritingIn folder: String) -> Int32? {
        guard access(folder, W_OK | X_OK) == 0 else { return errno }
        let path = "\(folder)/.doctor-\(getpid())"
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return errno }
        defer {
            close(file)
            unlink(path)
        }
        return write(file, "x", 1) == 1 && fsync(file) == 0 ? nil : errno
    }

    private static func realPath(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }

    /// Formats the day of a time in seconds since 1970: `2026-11-21`.
    static func date(_ seconds: Int64) -> String {
        String(Timestamp.text(Moment(milliseconds: seconds * 1_000)).prefix(10))
    }
}
