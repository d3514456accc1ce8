import FoundationEssentials

/// The folder for everything that is kept.
enum DataFolder {
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
