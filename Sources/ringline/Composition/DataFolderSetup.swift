import FoundationEssentials

/// The folder for all persistent data.
enum DataFolderSetup {
    /// The default data folder of commands other than `serve`: the environment variable of the same setting, or else
    /// `./data`.
    static var standard: String {
        let told = ProcessInfo.processInfo.environment["RINGLINE_DATA"] ?? ""
        return told.isEmpty ? "./data" : told
    }

    /// Makes sure that the folder exists; a new one is accessible to its owner only.
    static func prepare(_ path: String) throws(UsageError) {
        var isFolder = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
            guard isFolder else { throw UsageError("--data: \(path) is not a folder") }
            return
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw UsageError("--data: \(path) cannot be created; is the folder above it writable?")
        }
    }
}
