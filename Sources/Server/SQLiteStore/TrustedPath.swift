import CallPorts
import Glibc

/// The place to which a path of an operator leads, found without following a link that somebody else may have made.
///
/// A link is trusted only if both it and its folder belong to root or to the user that runs the process: the owner of a
/// folder can rename a link that root has made in it.
package struct TrustedPath {
    /// The path of the place from the root folder, without links; with ``missing``, that of the last folder on the way.
    let path: String
    /// The status of the place; with ``missing``, that of the last folder on the way.
    let status: stat
    /// The status of the folder that contains the place.
    let folder: stat
    /// The names at the end of the path that do not exist.
    let missing: ArraySlice<String>

    /// Follows a path.
    /// - Throws: `StoreFailure` if it leads through a link of another user, or to a place that cannot be reached.
    init(_ named: String) throws(StoreFailure) {
        var rest = ArraySlice(Self.names(in: named.hasPrefix("/") ? named : "\(Self.workingFolder)/\(named)"))
        var walk = try Walk(named)
        var links = 0
        while let name = rest.popFirst() {
            guard let found = try walk.look(at: name) else {
                (path, status, folder) = (walk.path, walk.status, walk.status)
                missing = [name] + rest
                return
            }
            switch found.status.st_mode & S_IFMT {
            case S_IFDIR: walk.enter(name, found)
            case S_IFLNK:
                links += 1
                guard links <= Self.mostLinks else { throw walk.failure(ELOOP) }
                guard ActingUser.trusts(found.status.st_uid), ActingUser.trusts(walk.status.st_uid) else {
                    throw StoreFailure(
                        "\(walk.path(of: name)) is a link that user \(found.status.st_uid) may have made, and is not followed."
                    )
                }
                let target = try walk.target(of: found)
                if target.hasPrefix("/") { walk = try Walk(named) }
                rest = ArraySlice(Self.names(in: target)) + rest
            default:
                guard rest.isEmpty else { throw walk.failure(ENOTDIR) }
                (path, status, folder, missing) = (walk.path(of: name), found.status, walk.status, [])
                return
            }
        }
        (path, status, folder, missing) = (walk.path, walk.status, walk.status, [])
    }

    /// Whether the path leads to a regular file.
    var isFile: Bool { missing.isEmpty && status.st_mode & S_IFMT == S_IFREG }
    /// Whether the path leads to a folder.
    var isFolder: Bool { missing.isEmpty && status.st_mode & S_IFMT == S_IFDIR }

    /// Returns the user as whom the file at the end of the path is opened: the owner of its folder could replace it.
    func user() throws(StoreFailure) -> ActingUser {
        let above = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let owner = try ActingUser(ownerOf: folder, in: above.isEmpty ? "/" : above)
        return owner == .process ? try ActingUser(ownerOf: status, in: above.isEmpty ? "/" : above) : owner
    }

    /// As many links as Linux follows on one path.
    private static let mostLinks = 40

    private static var workingFolder: String {
        guard let found = getcwd(nil, 0) else { return "" }
        defer { free(found) }
        return String(cString: found)
    }

    private static func names(in path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }

    /// A folder on the way.
    private struct Walk {
        private let named: String
        private var names: [String] = []
        private var descriptor: Descriptor
        private(set) var status: stat

        init(_ named: String) throws(StoreFailure) {
            self.named = named
            let root = Descriptor(open("/", Descriptor.pathOnly | O_DIRECTORY | O_CLOEXEC))
            guard let root, let status = root.status else { throw Self.failure(named, errno) }
            (descriptor, self.status) = (root, status)
        }

        var path: String { "/" + names.joined(separator: "/") }
        func path(of name: String) -> String { (names.isEmpty ? "" : path) + "/" + name }

        /// Returns what has a name in the folder; `nil` if there is nothing.
        func look(at name: String) throws(StoreFailure) -> Found? {
            let opened = openat(descriptor.number, name, Descriptor.pathOnly | O_NOFOLLOW | O_CLOEXEC)
            guard let found = Descriptor(opened), let status = found.status else {
                guard errno == ENOENT else { throw failure(errno) }
                return nil
            }
            return Found(descriptor: found, status: status)
        }

        mutating func enter(_ name: String, _ found: Found) {
            if name == ".." { _ = names.popLast() } else { names.append(name) }
            (descriptor, status) = (found.descriptor, found.status)
        }

        func target(of link: Found) throws(StoreFailure) -> String {
            var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlinkat(link.descriptor.number, "", &bytes, bytes.count)
            guard count > 0 else { throw failure(count < 0 ? errno : ENOENT) }
            return String(decoding: bytes.prefix(count).lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        func failure(_ why: Int32) -> StoreFailure { Self.failure(named, why) }

        private static func failure(_ named: String, _ why: Int32) -> StoreFailure {
            StoreFailure("\(named) cannot be opened: \(String(cString: strerror(why)).lowercased()).")
        }
    }

    /// Something in a folder.
    private struct Found {
        let descriptor: Descriptor
        let status: stat
    }
}

/// An open file, which is closed with the last reference to it.
final class Descriptor: Sendable {
    let number: Int32

    /// Keeps the result of a call of `open`; `nil` if the call has failed.
    init?(_ opened: Int32) {
        guard opened >= 0 else { return nil }
        number = opened
    }

    deinit { close(number) }

    /// `O_PATH`, which opens neither a pipe nor a device; glibc declares it for `_GNU_SOURCE` alone.
    static let pathOnly: Int32 = 0o10_000_000

    /// The status of the file; `nil` with `errno` if there is none.
    var status: stat? {
        var status = stat()
        return fstat(number, &status) == 0 ? status : nil
    }
}
