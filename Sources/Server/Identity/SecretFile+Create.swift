import Crypto
import Glibc

extension SecretFile {
    /// Creates a secret file; if another process has created it meanwhile, the file of that process stays.
    static func create(_ path: String, _ text: String? = nil) throws(SecretFileError) {
        // The temporary file's name is random. So two processes never write to the same file, and a file left over from
        // a crash does no harm.
        let temporary = temporaryPath(of: path)
        let text = text ?? Base64URL.encode(SecureRandom.bytes(32)) + "\n"
        defer { unlink(temporary) }
        // The errors name the wanted file, because the temporary file's name would mean nothing to their reader.
        guard write(Array(text.utf8), to: temporary) else { throw .cannot("create", path, errno) }
        guard link(temporary, path) == 0 || errno == EEXIST else { throw .cannot("create", path, errno) }
        syncFolder(of: path)
    }

    /// Replaces a secret file; a reader sees either the old file or the new one, complete.
    static func replace(_ path: String, _ text: String) throws(SecretFileError) {
        let temporary = temporaryPath(of: path)
        defer { unlink(temporary) }
        guard write(Array(text.utf8), to: temporary), rename(temporary, path) == 0 else {
            throw .cannot("write", path, errno)
        }
        syncFolder(of: path)
    }

    private static func temporaryPath(of path: String) -> String { "\(path).\(Hex.encode(SecureRandom.bytes(8)))" }

    /// Writes all the bytes to a new file and to the disk; if it returns false, `errno` has the reason.
    private static func write(_ bytes: [UInt8], to path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        // A few bytes like these are written in one call, or not at all if there is no space.
        let done = Glibc.write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        let code = errno
        close(descriptor)
        errno = code
        return done
    }

    /// Makes the new name survive a power loss.
    ///
    /// Some file systems cannot do this. A power loss may then undo the change: the next start creates a lost file
    /// again, with another secret, or reads the earlier content of a replaced file. Signatures by a lost secret, such
    /// as the `act` of recent pushes, are refused from then on.
    private static func syncFolder(of path: String) {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let descriptor = open(folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
