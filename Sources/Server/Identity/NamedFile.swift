import Glibc

/// A file that a setting names: a regular file, a link to one, or a pipe that the process was given open.
///
/// To open or to read anything else may take for ever: a named pipe without a writer, a terminal, `/dev/zero`.
package enum NamedFile {
    /// The size of the largest file that may be read, in bytes: the bundles of a system's authorities have 250,000.
    package static let maximumByteCount = 16 << 20

    /// Returns why a file is not read; `nil` if it can be opened and is of the right kind.
    ///
    /// For a file that a library reads by itself.
    package static func fault(of path: String) -> SecretFileError? {
        do throws(SecretFileError) {
            close(try open(path))
            return nil
        } catch { return error }
    }

    /// Reads a file.
    /// - Throws: ``SecretFileError`` if it cannot be read, is of another kind, or has more than `limit` bytes.
    package static func read(_ path: String, limit: Int = maximumByteCount) throws(SecretFileError) -> [UInt8] {
        let descriptor = try open(path)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while bytes.count <= limit {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .cannot("read", path, errno) }
            if count == 0 { return bytes }
            bytes += buffer.prefix(count)
        }
        throw .tooLarge(path)
    }

    /// Opens a file.
    ///
    /// Its kind is checked first, because to open a device may have an effect.
    private static func open(_ path: String) throws(SecretFileError) -> Int32 {
        var status = stat()
        guard stat(path, &status) == 0 else { throw .cannot("read", path, errno) }
        try check(status, path)
        // Without `O_NONBLOCK`, a named pipe that has taken the file's place would be waited for.
        let wait = isOpenAlready(path) ? 0 : O_NONBLOCK
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | wait)
        guard descriptor >= 0 else { throw .cannot("read", path, errno) }
        do throws(SecretFileError) {
            guard fstat(descriptor, &status) == 0 else { throw .cannot("read", path, errno) }
            try check(status, path)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    private static func check(_ status: stat, _ path: String) throws(SecretFileError) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFIFO where isOpenAlready(path): break
        case S_IFDIR: throw .cannot("read", path, EISDIR)
        case S_IFIFO: throw .otherKind(path, "a named pipe")
        case S_IFSOCK: throw .otherKind(path, "a socket")
        default: throw .otherKind(path, "a device")
        }
    }

    /// Whether a path names an open descriptor of this process, such as a shell's `<(…)`.
    private static func isOpenAlready(_ path: String) -> Bool {
        path == "/dev/stdin" || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
    }
}
