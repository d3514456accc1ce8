import SQLite
import Switchboard

/// Where a store's database is.
enum Site: Sendable {
    /// In a data folder.
    case folder(Folder)
    /// In the memory of this process, under a name.
    case memory(named: String)

    /// How the database is named in sentences.
    var database: String {
        switch self {
        case .folder(let folder): folder.database
        case .memory: ":memory:"
        }
    }

    /// For the writer.
    var place: Connection.Place {
        switch self {
        case .folder(let folder): .file(path: folder.database, .readWrite)
        case .memory(let name): .memory(named: name)
        }
    }

    /// Makes what is missing and takes the folder; `nil` in memory, where there is nobody else.
    func lock() throws(StoreFailure) -> Folder.Lock? {
        guard case .folder(let folder) = self else { return nil }
        try folder.prepare()
        let lock = try folder.lock()
        try folder.makeDatabaseFile()
        return lock
    }
}

extension SQLiteCallStore {
    /// Keeps a database in memory while no store has it open, so that a test can open it again.
    package final class MemoryAnchor {
        private let connection: Connection

        /// Holds the database of this name.
        package init(name: String) throws { connection = try Connection(.memory(named: name)) }
    }
}
