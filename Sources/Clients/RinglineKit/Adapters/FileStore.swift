public import Foundation

/// A store in one small file, which can be read before the device is first unlocked after a restart.
///
/// A VoIP push may arrive before that unlock, when `UserDefaults` is still empty: a device that kept its id there would
/// make a new one. So the file has no data protection, and no secret may be in it. The kit keeps the device's id and
/// the clock skew.
///
/// [Data protection](https://developer.apple.com/documentation/uikit/encrypting-your-app-s-files) is the source.
@MainActor
public final class FileStore: ValueStore {
    private let file: URL
    private var values: [String: String]

    /// Creates a store in a file, which is made at the first change of a value.
    public init(file: URL) {
        self.file = file
        // At the first launch there is no file.
        let data = (try? Data(contentsOf: file)) ?? Data()
        // A damaged file leaves the device as after an installation.
        values = (try? JSONDecoder().decode([String: String].self, from: data)) ?? [:]
    }

    /// Creates a store in the app's folder for support files.
    ///
    /// - Throws: the error of the file system if that folder cannot be made.
    public convenience init() throws {
        let folder = try FileManager.default.url(
            for: .applicationSupportDirectory,
            in: .userDomainMask,
            appropriateFor: nil,
            create: true
        )
        self.init(file: folder.appendingPathComponent("ringline.json"))
    }

    /// The text kept under a name; `nil` = none.
    ///
    /// A change is written to the file at once.
    public subscript(name: String) -> String? {
        get { values[name] }
        set {
            guard values[name] != newValue else { return }
            values[name] = newValue
            save()
        }
    }

    private func save() {
        var options: Data.WritingOptions = .atomic
        #if os(iOS)
        options.insert(.noFileProtection)
        #endif
        // If the disk is full, the values last until the app ends, and then the device gets a new id. At worst the user
        // misses a call, so this is no reason to fail now.
        try? JSONEncoder().encode(values).write(to: file, options: options)
    }
}
