import FoundationEssentials

/// The folder for all persistent data.
enum DataFolderSetup {
    /// The default data folder of commands other than `serve`: the environment variable of the same setting, or else
    /// `./data`.
    static var standard: String {
        let told = ProcessInfo.processInfo.environment["RINGLINE_DATA"] ?? ""
        return told.isEmpty ? "./data" : told
    }

    /// The folder of a command that handles the database in it: the option's value, or else the default.
    ///
    /// Without the option, a variable that names a PostgreSQL database is an error: the database in the folder, if
    /// there is one, is not the one that the server uses.
    static func holdingDatabase(
        _ option: String?,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(UsageError) -> String {
        if let option { return option }
        guard environment["RINGLINE_STORE"]?.isEmpty ?? true else {
            throw UsageError(
                "RINGLINE_STORE names a database, whose backups are PostgreSQL's own (pg_dump); --data names a folder"
            )
        }
        return standard
    }

    /// Makes sure that the folder exists; a new one is usually accessible to its owner only.
    ///
    /// `option`: What errors begin with.
    static func prepare(
        _ path: String,
        option: String = "--data",
        permissions: UInt16 = 0o700
    ) throws(UsageError) {
        var isFolder = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
            guard isFolder else { throw UsageError("\(option): \(path) is not a folder") }
            return
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: permissions]
            )
        } catch {
            throw UsageError("\(option): \(path) cannot be created; is the folder above it writable?")
        }
    }
}
