import Crypto
import Glibc

extension SecretFile {
    /// Makes a secret file, unless another process is faster; then that one's stays.
    static func create(_ path: String) throws(SecretFileError) {
        // Random, so that two processes never write to one file, and a stale one of a crash is in nobody's way.
        let draft = "\(path).\(Hex.encode(SecureRandom.bytes(8)))"
        let text = Base64URL.encode(SecureRandom.bytes(32)) + "\n"
        defer { unlink(draft) }
        try write(Array(text.utf8), to: draft)
        guard link(draft, path) == 0 || errno == EEXIST else { throw .cannot("create", path, errno) }
        syncFolder(of: path)
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(SecretFileError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .cannot("create", path, errno) }
        defer { close(descriptor) }
        // So few bytes are written at one go or not at all, for want of space.
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw .cannot("create", path, errno) }
        guard fsync(descriptor) == 0 else { throw .cannot("create", path, errno) }
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
