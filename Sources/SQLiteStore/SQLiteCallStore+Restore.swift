import Glibc
import SQLite
public import Switchboard

extension SQLiteCallStore {
    /// Puts a copy of a back-up into a data folder as its database, for the next start to go on with.
    ///
    /// What was there is kept under another name, with its `-wal`: SQLite would take that one for the new database's and
    /// damage it. The folder is held meanwhile, so this fails while a server runs; until the last step nothing is changed.
    /// Root gives the files to the folder's owner, for who runs the server must be able to write them.
    ///
    /// - Parameters:
    ///   - backup: A file that `StoreReader.backUp(to:)` has made, of this version or an older one; it stays as it is.
    ///   - folder: The data folder, made if it is missing.
    ///   - name: What a database that is there is to be called in the folder.
    /// - Returns: Whether there was one.
    /// - Throws: `StoreFailure`: a server runs, the file is no sound database of a ringline, no space, no leave to write.
    public static func restore(
        _ backup: String,
        into folder: String,
        keeping name: String
    ) throws(StoreFailure) -> Bool {
        guard access(backup, R_OK) == 0 else { throw Draft.failure("read", backup) }
        let folder = Folder(path: folder)
        let lock = try folder.hold()
        defer { withExtendedLifetime(lock) {} }
        return try Restoring(backup: backup, folder: folder, name: name).run()
    }
}

/// One back-up on its way into a folder that is held.
private struct Restoring {
    let backup: String
    let folder: Folder
    let name: String

    func run() throws(StoreFailure) -> Bool {
        let draft = try Draft(of: folder.database)
        try copy(to: draft)
        try draft.give(to: folder)
        try draft.synchronize()
        let wasThere = try putAside()
        try draft.replace()
        try settle()
        return wasThere
    }

    /// Copies it, whatever of it is still in a `-wal`, and looks whether all of it can be read.
    private func copy(to draft: borrowing Draft) throws(StoreFailure) {
        do {
            let connection = try StoreReader.connect(to: backup)
            guard try Schema.migrations.versionFound(in: connection) > 0 else {
                throw StoreFailure("The file \(backup) is a database, but none of ringline's.")
            }
            try draft.copy(from: connection)
            let check = try Connection(.file(path: draft.path, .immutable)).pragma("integrity_check")
            guard check == "ok" else { throw StoreFailure("The file \(backup) is damaged: \(check ?? "")") }
        } catch let failure as StoreFailure {
            throw failure
        } catch let failure as Migrations.Failure {
            throw StoreFailure(failure, database: backup)
        } catch let error as SQLiteError {
            throw StoreFailure(error, database: error.code == .full ? draft.path : backup)
        } catch {
            throw StoreFailure("The file \(backup) cannot be copied: \(error).")
        }
    }

    /// Gives the database that is there another name, in addition, and its `-wal` the one that belongs to that.
    private func putAside() throws(StoreFailure) -> Bool {
        guard access(folder.database, F_OK) == 0 else { return false }
        let aside = "\(folder.path)/\(name)"
        guard link(folder.database, aside) == 0 else { throw Draft.failure("made", aside) }
        guard rename(folder.database + "-wal", aside + "-wal") == 0 || errno == ENOENT else {
            throw Draft.failure("made", aside + "-wal")
        }
        guard unlink(folder.database + "-shm") == 0 || errno == ENOENT else {
            throw Draft.failure("removed", folder.database + "-shm")
        }
        return true
    }

    /// Names are on the disk too, when it is over.
    private func settle() throws(StoreFailure) {
        let directory = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw Draft.failure("opened", folder.path) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw Draft.failure("written", folder.path) }
    }
}
