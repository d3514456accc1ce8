/// One setting of the server: its name, its meaning, its default, and who has to know of it.
struct Setting: Sendable {
    /// The name as a flag and in the file: `listen`.
    let name: String
    /// The name before the setting was renamed, which is accepted for one release; `nil` = the setting was not renamed.
    let formerName: String?
    /// The placeholder for the value in the help: `HOST:PORT`.
    let placeholder: String
    /// The default value; `nil` = no default.
    let fallback: String?
    /// The meaning, in one sentence.
    let meaning: String
    /// Whether the setting may be given more than once.
    ///
    /// In the environment and the file, its values are separated by commas.
    let isRepeatable: Bool
    let scope: Scope
    let secrecy: Secrecy
    /// A flag without a value that is short for the value `true`.
    let flag: String?
    /// Whether the setting is one of the last everywhere but in `--help`.
    let isListedLast: Bool

    /// Which nodes of one store need the same value.
    enum Scope {
        /// Each node may have its own: an address, a file or a limit of the machine itself.
        case own
        /// All nodes need the same value, because a call would otherwise go differently on each.
        case shared
        /// The value is the path of a file that must have the same contents on all nodes; its path may differ.
        case sharedFile
    }

    /// What must not be shown of a value.
    enum Secrecy {
        case none
        /// The value is the path of a file that holds a secret.
        case file
        /// The value is a URL, which may contain a password, although it must not.
        case password
    }

    /// The name of the environment variable: `RINGLINE_LISTEN`.
    var variable: String { Self.variable(of: name) }

    /// The names under which a value may be given: the name, and then the former one.
    var names: [String] { [name] + (formerName.map { [$0] } ?? []) }

    /// Returns the environment variable of a name.
    static func variable(of name: String) -> String {
        "RINGLINE_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    static let rows = SettingTable()

    /// All settings of `ringline serve`, in the order of `--help`.
    static let inHelp = Mirror(reflecting: rows).children.compactMap { ($0.value as? any SettingRow)?.setting }

    /// All settings of `ringline serve`, in the order of the documentation.
    static let all = inHelp.filter { !$0.isListedLast } + inHelp.filter(\.isListedLast)

    /// Returns the setting of that name or former name.
    static func named(_ name: String) -> Setting? { all.first { $0.names.contains(name) } }
}

/// A row of the table of settings, whatever the type of its value.
protocol SettingRow {
    var setting: Setting { get }
}

extension SettingTable {
    /// A setting with the form of its values.
    struct Row<Value: Sendable>: SettingRow, Sendable {
        let setting: Setting
        let form: SettingForm<Value>

        init(
            _ name: String,
            _ form: SettingForm<Value>,
            fallback: String? = nil,
            scope: Setting.Scope = .shared,
            secrecy: Setting.Secrecy = .none,
            flag: String? = nil,
            formerName: String? = nil,
            isListedLast: Bool = false,
            meaning: () -> String
        ) {
            self.form = form
            setting = Setting(
                name: name,
                formerName: formerName,
                placeholder: form.placeholder,
                fallback: fallback,
                meaning: meaning(),
                isRepeatable: form.isRepeatable,
                scope: scope,
                secrecy: secrecy,
                flag: flag,
                isListedLast: isListedLast
            )
        }
    }
}
