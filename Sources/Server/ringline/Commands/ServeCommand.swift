import ArgumentParser
import FoundationEssentials

/// The options of `ringline serve`, one for each setting.
///
/// `config`, `doctor` and `push-test` take them too.
///
/// ArgumentParser finds the options of a type in the mirror of an instance. The mirror of this type makes them from the
/// table of settings, and the initializer decodes what the parser found under the same keys.
struct ServeOptions: ParsableArguments, CustomReflectable {
    private(set) var config: String?
    /// The flags given on the command line, by the name of their setting.
    private(set) var flags: [String: [String]] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let parsed = try decoder.container(keyedBy: Key.self)
        config = try parsed.decode(Option<String?>.self, forKey: Key("config")).wrappedValue
        for setting in Setting.inHelp {
            for name in setting.names {
                let key = Key(name)
                flags[name] =
                    setting.isRepeatable
                    ? try parsed.decode(Option<[String]>.self, forKey: key).wrappedValue
                    : try parsed.decode(Option<String?>.self, forKey: key).wrappedValue.map { [$0] }
            }
            guard let flag = setting.flag else { continue }
            let isGiven = try parsed.decode(Flag<Bool>.self, forKey: Key(flag)).wrappedValue
            if isGiven, flags[setting.name] == nil { flags[setting.name] = ["true"] }
        }
    }

    var customMirror: Mirror {
        let config = Option<String?>(help: "A file of settings, one 'name = value' per line.")
        var options: [(label: String?, value: Any)] = [("config", config)]
        for setting in Setting.inHelp {
            let fallback = setting.fallback.map { " (default: \($0))" } ?? ""
            for name in setting.names {
                let help = ArgumentHelp(
                    "\(setting.meaning)\(fallback)",
                    valueName: setting.placeholder,
                    visibility: name == setting.name ? .default : .hidden
                )
                if setting.isRepeatable {
                    options.append((name, Option<[String]>(wrappedValue: [], parsing: .singleValue, help: help)))
                } else {
                    options.append((name, Option<String?>(help: help)))
                }
            }
            guard let flag = setting.flag else { continue }
            let short = ArgumentHelp("Short for --\(setting.name) true.")
            options.append((flag, Flag(wrappedValue: false, help: short)))
        }
        return Mirror(self, children: options)
    }

    /// The name of an option, under which its value is decoded.
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    /// Returns the sources of the settings; the configuration file is read here.
    func source() throws(UsageError) -> SettingsSource { try Self.source(flags, config) }

    /// A function that reads the settings again at each call, because the file may have changed.
    var reading: @Sendable () throws(UsageError) -> ServeSettings {
        { [flags, config] () throws(UsageError) in try ServeSettings(try Self.source(flags, config)) }
    }

    /// Whether an error of `serve` is a line of JSON; `false` if the setting itself is wrong.
    var logsJSON: Bool { Self.logsJSON(flags, config) }

    /// Whether an error in a command line that cannot be parsed is a line of JSON: it is one of `serve` that asks for it.
    static func logsJSON(_ arguments: [String]) -> Bool {
        guard arguments.first == "serve" else { return false }
        func value(of option: String) -> String? {
            let place = arguments.lastIndex { $0 == option || $0.hasPrefix("\(option)=") }
            guard let place else { return nil }
            let joined = arguments[place].dropFirst(option.count + 1)
            return joined.isEmpty ? arguments.dropFirst(place + 1).first : String(joined)
        }
        return logsJSON(["log-format": [value(of: "--log-format")].compactMap { $0 }], value(of: "--config"))
    }

    private static func logsJSON(_ flags: [String: [String]], _ config: String?) -> Bool {
        let environment = ProcessInfo.processInfo.environment
        // A file that cannot be read is the error itself. The options and the environment say enough.
        let source = (try? source(flags, config)) ?? SettingsSource(flags: flags, environment: environment)
        return source.texts(\.logFormat).last == "json"
    }

    private static func source(_ flags: [String: [String]], _ config: String?) throws(UsageError) -> SettingsSource {
        let environment = ProcessInfo.processInfo.environment
        let path = config ?? environment["RINGLINE_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        let file = try path.map { path throws(UsageError) in try ConfigurationFile.read(path) } ?? [:]
        return SettingsSource(flags: flags, environment: environment, file: file)
    }
}

/// Runs the server.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the server.",
        discussion: """
            Without options for keys, tokens are checked with a development key, which is created in the data folder; \
            'ringline token' signs with it.

            Signals: SIGTERM and SIGINT shut it down cleanly. SIGHUP reloads the certificate and its key, which also \
            happens when the files change, reloads the other keys, and reopens the audit log. SIGUSR1 logs more (info, then debug, then trace), SIGUSR2 less.

            Example:
              ringline serve --listen 0.0.0.0:8443 --data /var/lib/ringline \\
                  --tls-cert cert.pem --tls-key key.pem
            """
    )

    @OptionGroup var options: ServeOptions

    func run() throws {
        do throws(UsageError) {
            let read = options.reading
            try ServerApplication(try read(), reread: read).run()
        } catch { throw error.shown(asJSON: options.logsJSON) }
    }
}
