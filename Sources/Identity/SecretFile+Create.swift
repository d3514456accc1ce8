import Crypto
import Glibc

extension SecretFile {
    /// Makes a secret file, unless another process is faster; then that one's stays.
    static func create(_ path: String, _ text: String? = nil) throws(SecretFileError) {
        // Random, so that two processes never write to one file, and a stale one of a crash is in nobody's way.
        let draft = draft(of: path)
        let text = text ?? Base64URL.encode(SecureRandom.bytes(32)) + "\n"
        defer { unlink(draft) }
        // The errors name the file that is wanted; the draft means nothing to whoever reads them.
        guard write(Array(text.utf8), to: draft) else { throw .cannot("create", path, errno) }
        guard link(draft, path) == 0 || errno == EEXIST else { throw .cannot("create", path, errno) }
        syncFolder(of: path)
    }

    /// Puts a secret file in the place of the one that is there; whoever reads sees the one or the other, whole.
    static func replace(_ path: String, _ text: String) throws(SecretFileError) {
        let draft = draft(of: path)
        defer { unlink(draft) }
        guard write(Array(text.utf8), to: draft), rename(draft, path) == 0 else { throw .cannot("write", path, errno) }
        syncFolder(of: path)
    }

    private static func draft(of path: String) -> String { "\(path).\(Hex.encode(SecureRandom.bytes(8)))" }

    /// Says whether all the bytes are in a new file, and on the disk; if not, `errno` tells why.
    private static func write(_ bytes: [UInt8], to path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        // So few bytes are written at one go, or not at all for want of space.
        let done = Glibc.write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        let code = errno
        close(descriptor)
        errno = code
        return done
    }

    /// Makes the new name survive a loss of power.
    ///
    /// Some file systems cannot; then it may be made anew, no worse.
    private static func syncFolder(of path: String) {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let descriptor = open(folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
