package import CallPorts
import Glibc
import SQLite

extension SQLiteCallStore {
    /// Copies a backup into a data folder as its database, which the next start of the server uses.
    ///
    /// An existing database is kept under another name, together with its `-wal`. Otherwise SQLite would apply that
    /// `-wal` to the new database and damage it. The folder is locked meanwhile, so a restoration fails while a server
    /// runs. The database is not changed until the copy is complete, checked and on the disk. After a crash the folder
    /// contains the whole previous database or the whole new one. Root acts as the folder's owner, who gets the files,
    /// because the user that runs the server must be able to write them. A folder that is created gets the owner of the
    /// folder above it. Only rows are copied, into the tables of ringline's own schema: triggers, views and indexes that
    /// somebody has added to the backup are left out.
    ///
    /// - Parameters:
    ///   - backup: A file that `DataFolderReader.backUp(to:)` wrote, of this version or an older one. It is not changed.
    ///   - folder: The data folder. It is created if it is missing.
    ///   - name: The new name, in the folder, of an existing database.
    /// - Returns: Whether there was a database.
    /// - Throws: `StoreFailure` if a server runs, if the file is no intact ringline database, if there is no space, or
    ///   if there is no permission to write.
    package static func restore(
        _ backup: String,
        into folder: String,
        keeping name: String
    ) throws(StoreFailure) -> Bool {
        let source = try BackupSource(backup)
        let owned = try OperatorFolder(making: folder)
        return try owned.act { () throws(StoreFailure) in
            let folder = DataFolder(path: owned.path)
            let lock = try folder.hold(owned.give)
            defer { withExtendedLifetime(lock) {} }
            let hasDatabase = try owned.hasDatabase()
            let restoration = Restoration(source: source, owned: owned, folder: folder, name: name)
            try restoration.run(setsAside: hasDatabase)
            return hasDatabase
        }
    }
}

/// The restoration of one backup into a folder that is locked.
private struct Restoration {
    let source: BackupSource
    let owned: OperatorFolder
    let folder: DataFolder
    let name: String

    func run(setsAside hasDatabase: Bool) throws(StoreFailure) {
        let file = try AtomicFile(of: folder.database)
        try source.copy(to: file.path, Self.skipVersions)
        try file.give(to: owned)
        try file.synchronize()
        if hasDatabase { try setDatabaseAside() }
        try file.replace()
        try syncFolder()
    }

    /// Moves the version of the call directory beyond all those that clients may have seen since the backup was made.
    ///
    /// A client that has seen one of them reads the whole list again. Otherwise it would be told only of the changes after
    /// its version as soon as the versions have come up to it, and keep what the restoration has taken back.
    ///
    /// For the same reason a new incarnation of the events for the app's backend begins (`EventIncarnation`): the events
    /// that were written since the backup was made are lost, and their positions are used again.
    private static let skipVersions = SQL(
        "skip versions",
        """
        INSERT INTO meta (name, value) VALUES ('directory_version', 0) ON CONFLICT (name) DO NOTHING;
        UPDATE meta SET value = value + 4294967296 WHERE name = 'directory_version';
        INSERT OR REPLACE INTO meta (name, value)
        SELECT 'directory_oldest', value FROM meta WHERE name = 'directory_version';
        INSERT INTO meta (name, value) VALUES ('event_incarnation', \(EventIncarnation.first.rawValue))
        ON CONFLICT (name) DO NOTHING;
        UPDATE meta SET value = max(value + 1, CAST(strftime('%s', 'now') AS INTEGER))
        WHERE name = 'event_incarnation'
        """
    )

    /// Gives the existing database and its `-wal` second names, and removes the `-wal` under its first name.
    ///
    /// Before the `-wal` is removed, its content is copied into the database: the two files cannot be replaced in one
    /// step, and after a crash between the two steps the server would start without the data in the `-wal`.
    private func setDatabaseAside() throws(StoreFailure) {
        let (log, aside) = (folder.database + "-wal", "\(folder.path)/\(name)")
        guard link(folder.database, aside) == 0 else { throw AtomicFile.failure("made", aside) }
        guard link(log, aside + "-wal") == 0 || errno == ENOENT else {
            throw AtomicFile.failure("made", aside + "-wal")
        }
        copyLog()
        for file in [log, folder.database + "-shm"] {
            guard unlink(file) == 0 || errno == ENOENT else { throw AtomicFile.failure("removed", file) }
        }
    }

    /// Copies the `-wal` into the existing database, without changing the `-wal`.
    private func copyLog() {
        do throws(SQLiteError) {
            let connection = try Connection(.file(path: folder.database, .readWrite), followsLinks: false)
            // SQLite opens the `-wal` when it first reads the database.
            try connection.pragma("schema_version")
            try connection.checkpoint(.passive)
        } catch {
            // The database is damaged, which is a reason to restore a backup. Its `-wal` is kept under its second name.
            return
        }
    }

    /// Makes the new names of the files durable, by an `fsync` of the folder.
    private func syncFolder() throws(StoreFailure) {
        let directory = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw AtomicFile.failure("opened", folder.path) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw AtomicFile.failure("written", folder.path) }
    }
}
