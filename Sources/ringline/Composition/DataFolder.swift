import FoundationEssentials

/// The folder for everything that is kept.
enum DataFolder {
    /// Which one is meant where a command that only reads it is not told: the variable of serve's setting, else `./data`.
    static var standard: String {
        let told = ProcessInfo.processInfo.environment["RINGLINE_DATA"] ?? ""
        return told.isEmpty ? "./data" : told
    }

    /// Makes sure that it is there; what is in it is for its owner only.
    static func prepare(_ path: String) throws(Complaint) {
        var isFolder = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
            guard isFolder else { throw Complaint("--data: \(path) is not a folder") }
            return
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw Complaint("--data: \(path) cannot be made; is the folder above it writable?")
        }
    }
}
