import FoundationEssentials
import Identity

extension SettingsSource {
    /// Where a setting's value comes from.
    enum Origin: String {
        case option
        case variable
        case file
        case standard = "default"
    }

    /// Where the value of a setting comes from.
    func provenance(of setting: Setting) -> Origin {
        if !(flags[setting.name]?.isEmpty ?? true) { return .option }
        if !(environment[setting.variable]?.isEmpty ?? true) { return .variable }
        return file[setting.name] == nil ? .standard : .file
    }

    /// Every setting in three columns: its name, its value, where that comes from.
    ///
    /// Secrets stand in files, of which only the path is shown. What leads nowhere may be the secret itself, given in the
    /// wrong place: then nothing of it is shown.
    func effective() throws(Complaint) -> String {
        var rows: [[String]] = []
        for setting in Setting.all {
            let values = try values(setting.name).map { Self.shown($0, of: setting) }
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
        guard setting.holdsSecret else { return value }
        return FileManager.default.fileExists(atPath: value) ? value : "\(SecretFile.shown(value)) (no such file)"
    }
}
