import Glibc

/// A file that contains a secret and nothing else.
package enum SecretFile {
    /// The size above which a file is refused, in bytes: no key is that long.
    package static let maximumByteCount = 65_536

    /// Reads a secret.
    ///
    /// - Parameter path: a ``NamedFile``.
    /// - Returns: its raw bytes without the one newline at the end that editors add.
    /// - Throws: ``SecretFileError`` if the file is not readable, empty or too large.
    package static func read(_ path: String) throws(SecretFileError) -> [UInt8] {
        // One byte more, for the newline.
        var bytes = try NamedFile.read(path, limit: maximumByteCount + 1)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw .empty(path) }
        guard bytes.count <= maximumByteCount else { throw .tooLarge(path) }
        return bytes
    }

    /// Returns what is odd about a secret: an unintended trace of an editor or a shell.
    ///
    /// The secret is used as it is. But then tokens that were signed with the intended secret are refused, and no other
    /// message gives the reason.
    ///
    /// - Returns: part of a sentence, such as `ends with a carriage return`; `nil` for a secret without such traces.
    package static func suspiciousTrait(of secret: [UInt8]) -> String? {
        if secret.starts(with: [0xEF, 0xBB, 0xBF]) { return "begins with a byte order mark" }
        if secret.starts(with: [0xFF, 0xFE]) || secret.starts(with: [0xFE, 0xFF]) { return "is UTF-16" }
        func isBlank(_ byte: UInt8?) -> Bool { byte.map { [0x09, 0x0A, 0x20].contains($0) } ?? false }
        if secret.last == 0x0D { return "ends with a carriage return, as files from Windows do" }
        if isBlank(secret.last) { return "ends with a blank or an empty line" }
        return isBlank(secret.first) ? "begins with a blank or an empty line" : nil
    }

    /// Returns a path for display, and hides a secret that was given in place of its path.
    ///
    /// - Returns: the path if the file exists, or a folder on the way to it exists, or the text looks like a path;
    ///   otherwise asterisks.
    package static func shown(_ path: String) -> String {
        if hasExistingFolder(path) || looksLikePath(path) { return path }
        return "******"
    }

    private static func hasExistingFolder(_ path: String) -> Bool {
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            folder = folder[..<slash]
            if folder.contains(where: { $0 != "/" && $0 != "." }), access(String(folder), F_OK) == 0 { return true }
        }
        return access(path, F_OK) == 0
    }

    /// Returns whether a text is most likely a path and not a secret: it consists of plain file names, and the last
    /// name may have an extension.
    ///
    /// Random text is recognized by its digits, or by characters such as `+` and `=`. Digits are allowed only if the
    /// last name has an extension of 1 to 8 characters; the last part of a token is far longer.
    private static func looksLikePath(_ path: String) -> Bool {
        let names = path.split(separator: "/").filter { $0 != "." && $0 != ".." }
        // The first line of a PEM key contains spaces, which are not allowed in a name here.
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

    /// Reads the secret of a file, or creates the file with a random secret.
    ///
    /// The file appears in one step and complete, with mode 0600, so that two processes that start together read the
    /// same secret. The file is written under another name and then linked to its own name, which fails if that name
    /// exists. So no process ever reads a half-written secret, not even after a crash.
    ///
    /// - Parameters:
    ///   - path: the file; its folder must exist.
    ///   - text: the content for a new file; without it, 32 random bytes in base64url.
    /// - Returns: the text of the file.
    /// - Throws: ``SecretFileError``.
    package static func loadOrCreate(_ path: String, _ text: String? = nil) throws(SecretFileError) -> [UInt8] {
        if access(path, F_OK) != 0, errno == ENOENT { try create(path, text) }
        return try read(path)
    }
}

/// Why a file that a setting names cannot be used.
///
/// Each case contains the path.
package enum SecretFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The failed operation (`read`, `create`, `write`), the path and C's `errno`.
    case cannot(String, String, Int32)
    /// The file is empty, or contains only a newline.
    case empty(String)
    /// The file has more bytes than may be read.
    case tooLarge(String)
    /// The path names something else than a file that can be read at once, in words.
    case otherKind(String, String)

    /// One line with the path and the problem, without the file's contents.
    package var description: String {
        switch self {
        case .cannot(let what, let path, let code):
            "cannot \(what) \(SecretFile.shown(path)): \(String(cString: strerror(code)))"
        case .empty(let path): "\(path) is empty; it must hold the secret"
        case .tooLarge(let path):
            "\(path) is too large: a secret has at most \(SecretFile.maximumByteCount) bytes, any other file 16 MiB"
        case .otherKind(let path, let kind):
            "\(SecretFile.shown(path)) is \(kind), but must be a regular file or a link to one"
        }
    }
}
