/// The form of a name of the tz database.
package enum TimeZoneName {
    /// The maximum length of a name in bytes; the longest today has 32.
    package static let maximumByteCount = 64

    /// Returns whether a text has the form of a name, such as `Asia/Seoul`, `Etc/GMT+5` or `UTC`.
    ///
    /// A name consists of parts with slashes between them. Each part has at least one character, and consists of ASCII
    /// letters, digits, `_`, `+` and `-`. So no name leads out of the folder with the files. The first character is
    /// an upper-case letter, as in all names of the database. This excludes files that are not zones or that mean
    /// another zone on every machine: `localtime`, `posixrules`, and the folders `posix` and `right`.
    package static func isValid(_ name: String) -> Bool {
        let bytes = Array(name.utf8.prefix(maximumByteCount + 1))
        guard bytes.count <= maximumByteCount, let first = bytes.first, isUpperCase(first) else { return false }
        return bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part.allSatisfy(isAllowed)
        }
    }

    private static func isUpperCase(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: isUpperCase(byte) || "_+-".utf8.contains(byte)
        }
    }
}
