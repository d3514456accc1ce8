package import CallPorts
import Glibc
import SQLite
import Storing

extension DataFolderReader {
    /// Copies the database, as it is at one moment, into a new file; its server may go on running (`VACUUM INTO`).
    ///
    /// The copy receives its name only when it is checked and all of it is on the disk. Only the owner of the copy can
    /// read it.
    ///
    /// A folder of another user receives a file of that user: see `ActingUser`.
    ///
    /// - Parameter path: The path of the copy. It must not exist yet.
    /// - Throws: `StoreFailure` if the path exists, if the copy is damaged, if there is no space, or if there is no
    ///   permission to write.
    package func backUp(to path: String) throws(StoreFailure) {
        let place = try TrustedPath(path)
        guard let name = place.missing.first else {
            throw StoreFailure("The file \(path) exists already and was not overwritten.")
        }
        guard place.missing.count == 1 else { throw AtomicFile.failure("created", path, ENOENT) }
        let file = place.path == "/" ? "/\(name)" : "\(place.path)/\(name)"
        try ActingUser(ownerOf: place.status, in: place.path).act { () throws(StoreFailure) in try write(to: file) }
    }

    private func write(to path: String) throws(StoreFailure) {
        let file = try AtomicFile(of: path)
        do throws(SQLiteError) { try file.copy(from: queries.session) } catch {
            throw StoreFailure("The copy could not be made: \(error.message) (SQLite \(error.extendedCode)).")
        }
        let errors = try DataFolderReader(ofCopy: file.path).integrityErrors()
        guard errors.isEmpty else {
            throw StoreFailure("The copy is damaged, so the database may be damaged too: \(errors.prefix(3))")
        }
        try file.publish()
    }
}
