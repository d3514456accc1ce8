import Glibc

/// The access that this process, or every user of the machine, has to files.
package enum FileAccess {
    /// Returns why no file can be written in a folder (`errno`); `nil` if files can be written.
    ///
    /// The check writes a file, because the mode bits alone would not show a full disk or a read-only file system.
    package static func writeError(in folder: String) -> Int32? {
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

    /// Returns a path with all symbolic links resolved; `nil` if nothing exists at the path.
    package static func realPath(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }

    /// Returns whether every user can read a file: its own mode and that of every folder on its path allow it.
    ///
    /// A file that is itself a mount point counts as unreadable for others: it is a secret that was mounted into a
    /// container, and a container has no other users.
    package static func isOpen(toAll path: String, _ mounts: MountTable = MountTable()) -> Bool {
        guard let found = realpath(path, nil) else { return false }
        defer { free(found) }
        var place = String(cString: found)
        guard allows(place, 0o004), !mounts.isMountPoint(place) else { return false }
        while let slash = place.lastIndex(of: "/") {
            place = String(place[..<slash])
            guard allows(place.isEmpty ? "/" : place, 0o001) else { return false }
        }
        return true
    }

    private static func allows(_ path: String, _ bit: mode_t) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & bit != 0
    }
}
