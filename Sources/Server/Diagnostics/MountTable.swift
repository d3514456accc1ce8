import FoundationEssentials
import Glibc

/// The mounted file systems that this process sees, as `/proc/self/mountinfo` lists them (proc(5)).
package struct MountTable {
    private var mounts: [(point: String, kind: String)] = []

    /// Reads the kernel's list; the table is empty if there is no `/proc`.
    package init() { self.init(FileManager.default.contents(atPath: "/proc/self/mountinfo").map { Array($0) } ?? []) }

    /// Parses the list.
    package init(_ text: [UInt8]) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            // A variable number of optional fields precedes the hyphen; the kind of file system follows it.
            guard words.count > 6, let hyphen = words.dropFirst(6).firstIndex(where: { $0.elementsEqual("-".utf8) }),
                hyphen + 1 < words.endIndex
            else { continue }
            let point = Self.unescaped(words[4])
            mounts.append((point, String(decoding: words[hyphen + 1], as: UTF8.self)))
        }
    }

    /// Returns the kind of file system at an absolute path without symbolic links, such as `ext4`, `nfs4` or
    /// `fuse.sshfs`.
    ///
    /// Returns `nil` if it cannot be determined.
    package func kind(of path: String) -> String? {
        // If several file systems are mounted on one point, the last one is on top.
        var best: (point: String, kind: String)?
        for mount in mounts where Self.holds(mount.point, path) {
            if mount.point.utf8.count >= best?.point.utf8.count ?? 0 { best = mount }
        }
        return best?.kind
    }

    /// Whether a file system is mounted on exactly this path.
    package func isMountPoint(_ path: String) -> Bool { mounts.contains { $0.point == path } }

    private static func holds(_ point: String, _ path: String) -> Bool {
        point == "/" || path == point || path.hasPrefix(point + "/")
    }

    /// Decodes octal escapes: the list writes blanks, tabs, line ends and backslashes as `\040` and the like.
    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3, digits.allSatisfy({ (0x30...0x37).contains($0) }) {
                result.append(digits.reduce(0) { $0 &* 8 &+ ($1 - 0x30) })
                rest = rest.dropFirst(3)
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
