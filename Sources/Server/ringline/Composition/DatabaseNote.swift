import CallCore
import Glibc
import Identity
import SQLiteStore

/// The file in a data folder that names the PostgreSQL database with the calls of its server (`--store`).
///
/// The server writes it, so that an operator's command that is given only the folder can say where the calls are. The
/// folder may have an older database of its own, whose contents were moved.
struct DatabaseNote {
    /// The name of the file in the data folder.
    static let fileName = "store-url"
    private static let mostBytes = 4_096
    private static let ownDatabase = "ringline.sqlite"

    /// The data folder.
    let folder: String
    /// The database, as `--store` names it, without a password.
    let url: String

    /// Reads the note in a folder; `nil` if there is none, or something else than a regular file in its place.
    init?(in folder: String) {
        // Without the note, commands give less help.
        guard let bytes = (try? OperatorFolder(folder))?.contents(of: Self.fileName, limit: Self.mostBytes) else {
            return nil
        }
        let line = String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline }
        guard !line.isEmpty else { return nil }
        self.folder = folder
        url = String(line)
    }

    /// Writes the note into the folder of a server; if that fails, commands give less help.
    static func write(_ url: String, in folder: String) {
        guard Self(in: folder)?.url != url else { return }
        let temporary = "\(path(in: folder)).part"
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        let bytes = Array("\(url)\n".utf8)
        let isWritten = Glibc.write(file, bytes, bytes.count) == bytes.count
        close(file)
        if isWritten { rename(temporary, path(in: folder)) } else { unlink(temporary) }
    }

    /// Removes the note, because the server keeps its calls in the folder again.
    func remove() { unlink(Self.path(in: folder)) }

    private static func path(in folder: String) -> String { "\(folder)/\(fileName)" }

    /// The sentence about the folder, without its full stop, for a command that was not given `--store`.
    var text: String { "the calls of the server on \(folder) are in the database \(url)".printable }

    /// The failure of a command that reads records and was given only the folder.
    var failure: UsageError {
        let own = "\(folder)/\(Self.ownDatabase)"
        guard access(own, F_OK) == 0 else { return UsageError("\(text): give --store") }
        return UsageError("\(text): give --store; the older calls in the folder itself are read with --data \(own)")
    }

    /// The failure of a command that reads records and was given the folder of a server that has no database in it.
    ///
    /// `nil` if the folder has a database, or is not one on which a server has run.
    static func failure(withoutNoteIn folder: String) -> UsageError? {
        func has(_ name: String) -> Bool { access("\(folder)/\(name)", F_OK) == 0 }
        guard !has(ownDatabase), has(ServerKeys.fileName) else { return nil }
        return UsageError("a server has run on \(folder), but its calls are elsewhere: give --store")
    }
}
