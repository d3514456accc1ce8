import Glibc

/// A file that holds a secret and nothing else.
public enum SecretFile {
    /// Larger files are refused: no key is as long.
    public static let maximumByteCount = 65_536

    /// Reads a secret.
    ///
    /// - Parameter path: a file or a pipe, as a shell's `<(…)` gives it.
    /// - Returns: its bytes, raw, but for one newline at the end, which editors put there.
    /// - Throws: ``SecretFileError``: not readable, empty, too large.
    public static func read(_ path: String) throws(SecretFileError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannot("read", path, errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= maximumByteCount + 1 {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .cannot("read", path, errno) }
            if count == 0 { break }
            bytes += buffer.prefix(count)
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw .empty(path) }
        guard bytes.count <= maximumByteCount else { throw .tooLarge(path) }
        return bytes
    }

    /// What is odd about a secret as it was read: the traces of an editor or a shell, which nobody meant.
    ///
    /// It is used as it is all the same, but whoever signs with the secret proper is refused, and nothing says why.
    ///
    /// - Returns: a part of a sentence, `ends with a carriage return`; `nil` for a secret without such traces.
    public static func oddity(of secret: [UInt8]) -> String? {
        if secret.starts(with: [0xEF, 0xBB, 0xBF]) { return "begins with a byte order mark" }
        if secret.starts(with: [0xFF, 0xFE]) || secret.starts(with: [0xFE, 0xFF]) { return "is UTF-16" }
        func isBlank(_ byte: UInt8?) -> Bool { byte.map { [0x09, 0x0A, 0x20].contains($0) } ?? false }
        if secret.last == 0x0D { return "ends with a carriage return, as files from Windows do" }
        if isBlank(secret.last) { return "ends with a blank or an empty line" }
        return isBlank(secret.first) ? "begins with a blank or an empty line" : nil
    }

    /// A path as it may be shown: a secret that was given in the place of its path is hidden.
    ///
    /// - Returns: the path where such a file is there, or a folder that it leads through, or where it reads like a path; else
    ///   asterisks.
    public static func shown(_ path: String) -> String {
        if leadsSomewhere(path) || readsLikePath(path) { return path }
        return "******"
    }

    private static func leadsSomewhere(_ path: String) -> Bool {
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            folder = folder[..<slash]
            if folder.contains(where: { $0 != "/" && $0 != "." }), access(String(folder), F_OK) == 0 { return true }
        }
        return access(path, F_OK) == 0
    }

    /// Whether this can hardly be a secret: names as people give them to files, of which the last may have an extension.
    ///
    /// Random text has digits among its letters, signs of base64, or no end; a token has parts far longer than an extension.
    private static func readsLikePath(_ path: String) -> Bool {
        let names = path.split(separator: "/").filter { $0 != "." && $0 != ".." }
        // A key in PEM has blanks in its first line, which no name may have.
        guard let last = names.last, path.utf8.count < Int(PATH_MAX) else { return false }
        if let dot = last.lastIndex(of: "."), (1...8).contains(last[dot...].utf8.count - 1) {
            return names.allSatisfy { isName($0, mayHoldDigits: true) }
        }
        return names.allSatisfy { isName($0, mayHoldDigits: false) }
    }

    private static func isName(_ text: Substring, mayHoldDigits: Bool) -> Bool {
        text.utf8.count <= 64
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): mayHoldDigits
                default: [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains(byte)
                }
            }
    }

    /// Reads a file's secret, or makes a random one and keeps it there.
    ///
    /// The file appears at once and whole, with mode 0600, so that of two processes that start together both read the same:
    /// it is written under another name and linked to its own, which fails if that exists. A half-written secret is never
    /// seen, not even after a crash.
    ///
    /// - Parameters:
    ///   - path: the file; its folder must exist.
    ///   - text: what it is to hold if it is not there; 32 random bytes in base64url where nothing is given.
    /// - Returns: the text of the file.
    /// - Throws: ``SecretFileError``.
    static func loadOrCreate(_ path: String, _ text: String? = nil) throws(SecretFileError) -> [UInt8] {
        if access(path, F_OK) != 0, errno == ENOENT { try create(path, text) }
        return try read(path)
    }
}

/// Why a secret's file cannot be used.
///
/// Each case carries the path.
public enum SecretFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What could not be done with it (`read`, `create`), and C's `errno`.
    case cannot(String, String, Int32)
    /// There is nothing in it, or a newline only.
    case empty(String)
    /// It has more than ``SecretFile/maximumByteCount`` bytes.
    case tooLarge(String)

    /// One line that names the path and says what is wrong, without the file's contents.
    public var description: String {
        switch self {
        case .cannot(let what, let path, let code):
            "cannot \(what) \(SecretFile.shown(path)): \(String(cString: strerror(code)))"
        case .empty(let path): "\(path) is empty; it must hold the secret"
        case .tooLarge(let path): "\(path) has more than \(SecretFile.maximumByteCount) bytes; that is no secret"
        }
    }
}
