import Crypto
import Glibc

/// The release of this source, and the commit that this program was built from.
enum Version {
    /// The release as a semantic version.
    static let text = "0.2.0"

    /// The line that `ringline --version` prints.
    static let line = described(buildID: ownBuildID())

    /// Returns the line of a program with a build id.
    static func described(buildID: [UInt8]) -> String {
        guard let commit = Commit(buildID: buildID) else {
            return "ringline \(text) (commit unknown: built without one)"
        }
        return "ringline \(text) (commit \(commit.hash.prefix(12))\(commit.isChanged ? ", with changes" : ""))"
    }

    /// A commit as `Deploy/commit` hands it to the linker, which writes it into the program as its build id.
    ///
    /// The program is linked for each commit, and nothing is compiled. A constant in a source file would have to be
    /// compiled for each commit, and C's preprocessor would need a module of its own.
    private struct Commit {
        let hash: String
        /// Whether the source had changes that were not committed.
        let isChanged: Bool

        /// Reads a build id: the word `ringline`, the 20 bytes of the commit, and 1 for a source with changes.
        init?(buildID: [UInt8]) {
            let mark = Array("ringline".utf8)
            guard buildID.count == mark.count + 21, buildID.starts(with: mark) else { return nil }
            hash = Hex.encode(Array(buildID[mark.count..<mark.count + 20]))
            isChanged = buildID[mark.count + 20] != 0
        }
    }

    /// Returns the build id of this program, from its file; empty if it has none.
    private static func ownBuildID() -> [UInt8] {
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        return ELFNotes { offset, count in
            var bytes = [UInt8](repeating: 0, count: count)
            return pread(file, &bytes, count, off_t(offset)) == count ? bytes : []
        }.buildID
    }
}

/// The notes of a program's file (ELF, 64 bits).
struct ELFNotes {
    /// Returns bytes of the file: from an offset, so many; empty if the file has fewer.
    let read: (_ offset: Int, _ count: Int) -> [UInt8]

    /// The build id; empty if there is none.
    var buildID: [UInt8] {
        let head = read(0, 64)
        guard head.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { return [] }
        let (size, count) = (Self.number(head, 54, 2), Self.number(head, 56, 2))
        for index in 0..<min(count, 64) {
            let segment = read(Self.number(head, 32, 8) + index * size, 56)
            let length = Self.number(segment, 32, 8)
            guard Self.number(segment, 0, 4) == Self.noteSegment, length <= 4_096 else { continue }
            if let found = Self.buildID(in: read(Self.number(segment, 8, 8), length)) { return found }
        }
        return []
    }

    private static let noteSegment = 4

    /// Returns the build id among notes: each has the lengths of its name and of its content, its type, its name and its
    /// content, both padded to 4 bytes.
    private static func buildID(in notes: [UInt8]) -> [UInt8]? {
        var at = 0
        while at + 12 <= notes.count {
            let (name, content, type) = (number(notes, at, 4), number(notes, at + 4, 4), number(notes, at + 8, 4))
            let start = at + 12 + (name + 3) / 4 * 4
            guard start + content <= notes.count else { return nil }
            if type == 3, notes[(at + 12)...].starts(with: "GNU\0".utf8) {
                return Array(notes[start..<start + content])
            }
            at = start + (content + 3) / 4 * 4
        }
        return nil
    }

    /// Returns a little-endian number of so many bytes; 0 beyond the end, and for a number that is too large.
    private static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> Int {
        guard offset + count <= bytes.count else { return 0 }
        let value = bytes[offset..<offset + count].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(exactly: value).flatMap { $0 < 1 << 40 ? $0 : nil } ?? 0
    }
}
