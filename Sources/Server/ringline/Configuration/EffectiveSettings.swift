import FoundationEssentials
import Identity
import Postgres

extension SettingsSource {
    /// The kinds of sources that a setting's value can come from.
    enum Origin: String {
        case option
        case variable
        case file
        case standard = "default"
    }

    /// Returns the source of a setting's current value.
    func provenance(of setting: Setting) -> Origin {
        if !(flags[setting.name]?.isEmpty ?? true) { return .option }
        if !(environment[setting.variable]?.isEmpty ?? true) { return .variable }
        return file[setting.name] == nil ? .standard : .file
    }

    /// Returns whether a setting has a value that is not its default.
    func isGiven<Value>(_ row: Row<Value>) -> Bool { provenance(of: Setting.rows[keyPath: row].setting) != .standard }

    /// Returns a table of all settings in three columns: name, value and source.
    ///
    /// The value of a secret setting is the path of a file, and only that path is shown. If no such file exists, the
    /// value may be the secret itself, given in the wrong place. Then the value is shown only if it looks like a path.
    func effective() -> String {
        var rows: [[String]] = []
        for setting in Setting.all {
            let values = texts(of: setting).map { Self.shown($0, of: setting) }
            let origin = provenance(of: setting)
            let from =
                switch origin {
                case .option: "option --\(setting.name)"
                case .variable: "variable \(setting.variable)"
                case .file: "file"
                case .standard: values.isEmpty ? "" : "default"
                }
            rows.append([setting.name, values.isEmpty ? "-" : values.joined(separator: ","), from])
        }
        return TextTable(["SETTING", "VALUE", "FROM"], rows).text
    }

    private static func shown(_ value: String, of setting: Setting) -> String {
        switch setting.secrecy {
        case .none: value
        case .file: FileManager.default.fileExists(atPath: value) ? value : "\(SecretFile.shown(value)) (no such file)"
        case .password: shownStore(value)
        }
    }

    private static func shownStore(_ url: String) -> String {
        do throws(ConnectionSettings.Invalid) { return try ConnectionSettings(url: url).shown } catch {
            return "(\(error.reason))"
        }
    }
}
