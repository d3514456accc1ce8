import FoundationEssentials
import Identity
import Postgres

extension SettingsSource {
    /// The kinds of sources that a setting's value can come from.
    enum Origin {
        case option
        case variable
        case file
    }

    /// The value of a setting in one of the sources.
    struct Given {
        let origin: Origin
        /// The name under which the value is given: the setting's, or its former one.
        let name: String
        let texts: [String]

        /// The name as the source has it: `--data`, `RINGLINE_DATA` or `config: data`.
        var label: String {
            switch origin {
            case .option: "--\(name)"
            case .variable: Setting.variable(of: name)
            case .file: "config: \(name)"
            }
        }
    }

    /// Returns whether a setting has a value that is not its default.
    func isGiven<Value>(_ row: Row<Value>) -> Bool { !given(Setting.rows[keyPath: row].setting).isEmpty }

    /// Returns a table of all settings in three columns: name, value and source.
    ///
    /// The value of a secret setting is the path of a file, and only that path is shown. If no such file exists, the
    /// value may be the secret itself, given in the wrong place. Then the value is shown only if it looks like a path.
    func effective() -> String {
        var rows: [[String]] = []
        for setting in Setting.all {
            let values = texts(of: setting).map { Self.shown($0, of: setting) }
            let from =
                switch given(setting).first {
                case let given? where given.origin == .option: "option \(given.label)"
                case let given? where given.origin == .variable: "variable \(given.label)"
                case let given?: given.name == setting.name ? "file" : "file, as \(given.name)"
                case nil: values.isEmpty ? "" : "default"
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
