package import CallPorts

/// The lock of a data folder for a server that keeps its calls in another database.
///
/// A server with a ``SQLiteCallStore`` takes the same lock. So servers never share a folder, whose keys and commands
/// belong to one server, and operators' commands find out whether a server runs on the folder
/// (``SQLiteCallStore/isHeld(folder:)``).
///
/// The folder is locked until this object is released, or until the process ends.
package final class DataFolderLock: Sendable {
    private let lock: DataFolder.Lock

    /// Locks a folder, which is created if it is missing; nothing else is created in it than the lock file.
    /// - Parameters:
    ///   - folder: The folder's path.
    ///   - lockWait: How to wait while another server holds the folder. By default this function throws immediately.
    /// - Throws: `StoreFailure` if the folder cannot be used, or if another server still holds it.
    package init(folder: String, lockWait: LockWait = LockWait()) throws(StoreFailure) {
        lock = try DataFolder(path: folder).takeWithoutDatabase(lockWait)
    }

    deinit { withExtendedLifetime(lock) {} }
}
