import CallCore
import CallPorts
import CallWire
import Diagnostics
import FoundationEssentials
import Glibc
import SQLiteStore

extension Doctor {
    /// Checks the data folder: whether it is writable, on which kind of file system it is, and whether its database is
    /// usable.
    func dataFolder() -> [Finding] {
        let subject = "data folder"
        guard !settings.isInMemory else {
            return [
                .warning(subject, ":memory: keeps nothing: a restart forgets calls and devices", fix: "give --data DIR")
            ]
        }
        var isFolder = false
        guard FileManager.default.fileExists(atPath: settings.data, isDirectory: &isFolder) else {
            return [missingFolder(subject)]
        }
        let owner = "make it a folder that belongs to the user that runs ringline"
        guard isFolder else { return [.error(subject, "\(settings.data) is not a folder", fix: owner)] }
        guard let path = FileAccess.realPath(settings.data) else {
            return [.error(subject, "\(settings.data) cannot be written", fix: owner)]
        }
        if let error = writeError(in: path) {
            let fix =
                switch error {
                case ENOSPC, EDQUOT: "free some space on its disk"
                case EROFS: "mount its file system for writing"
                default: owner
                }
            let why = String(cString: strerror(error)).lowercased()
            return [.error(subject, "\(settings.data) cannot be written: \(why)", fix: fix)]
        }
        let holdsDatabase = settings.store == nil
        let fileSystem = Rating.fileSystem(MountTable().kind(of: path), path, holdsDatabase: holdsDatabase)
        return [fileSystem, holdsDatabase ? folderDatabase() : nil].compactMap { $0 }
    }

    /// Returns why the folder's owner, who runs the server, cannot write there (`errno`).
    private func writeError(in path: String) -> Int32? {
        do throws(StoreFailure) {
            return try OperatorFolder(path).act { FileAccess.writeError(in: path) }
        } catch { return EACCES }
    }

    private func missingFolder(_ subject: String) -> Finding {
        let path = settings.data
        var parent = path.hasPrefix("/") ? path : "./\(path)"
        while !FileManager.default.fileExists(atPath: parent), let slash = parent.lastIndex(of: "/") {
            parent = slash == parent.startIndex ? "/" : String(parent[..<slash])
        }
        guard access(parent, W_OK | X_OK) == 0 else {
            return .error(
                subject,
                "\(path) does not exist and cannot be created",
                fix: "create it, owned by the user that runs ringline"
            )
        }
        // If the file system is unsuitable, that is reported although the folder does not exist yet. A suitable one is
        // reported only once the folder exists.
        let there = FileAccess.realPath(parent).map {
            Rating.fileSystem(MountTable().kind(of: $0), path, holdsDatabase: settings.store == nil)
        }
        guard let there, there.grade != .ok else {
            return .ok(subject, "\(path) does not exist yet, but can be created")
        }
        return there
    }

    private func folderDatabase() -> Finding? {
        if let note = DatabaseNote(in: settings.data) {
            return .warning("database", note.text, fix: "give --store, or know that a start goes on with older calls")
        }
        guard access("\(settings.data)/ringline.sqlite", F_OK) == 0 else { return nil }
        do throws(StoreFailure) {
            let reader: any StoreReader = try SQLiteCallStore.reader(of: settings.data)
            _ = try reader.bundleIDs(limit: 1)
            return .ok("database", "it can be read")
        } catch {
            return error.message.contains("older ringline")
                ? .warning("database", error.message, fix: "the next start updates it; back it up first")
                : .error("database", error.message, fix: "restore a backup, or check who may read it")
        }
    }

    /// Returns the bundle ids of the registered devices.
    func registeredBundles() -> [String] {
        guard !settings.isInMemory else { return [] }
        // A problem with the records has a finding of its own.
        return (try? RecordsPlace(settings).open().reader.bundleIDs(limit: 8)) ?? []
    }
}
