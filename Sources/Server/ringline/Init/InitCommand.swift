import ArgumentParser
import FoundationEssentials
import Glibc
import Identity
import Threads

/// Writes the files that a server needs, and checks them.
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract:
            "Write a configuration file with all settings, a secret, and a unit or a compose file; then check them.",
        usage: "ringline init [<folder>] [--unit | --compose] [<options>]",
        discussion: """
            Makes ringline.conf and secrets/jwt-secret in the folder. Your backend signs tokens with that secret (HS256), \
            and 'ringline token --jwt-secret-file' does for trials. A secret that exists is kept; if another file exists, \
            nothing is written. Then 'ringline doctor' checks the configuration, whose exit code this command has.

            Examples:
              ringline init
              ringline init /etc/ringline --unit --listen 0.0.0.0:8080
              ringline init ./calls --compose
            """
    )

    @Argument(help: "Where to write the files; made if it is missing.") var folder = "."
    @Option(help: ArgumentHelp("The value of the setting listen.", valueName: "host:port"))
    var listen = "127.0.0.1:8080"
    @Option(
        help: ArgumentHelp(
            "The value of the setting data; default: data in the folder. A unit and a container have a place of their own.",
            valueName: "folder"
        )
    )
    var data: String?
    @Flag(help: "Write ringline.service for systemd too.") var unit = false
    @Flag(help: "Write compose.yaml for a container too.") var compose = false

    func run() throws {
        var errors = 0
        do throws(UsageError) {
            let files = try files()
            // Values that are refused must not be left in a file.
            let settings = try files.settings
            try files.write()
            for line in files.report { print(line) }
            print()
            errors = DoctorCommand.examine(settings)
            print("\nNext, each in a terminal of its own:\n")
            for line in files.next { print("  \(line)") }
        } catch { throw error.shown() }
        if errors > 0 { throw ExitCode(1) }
    }

    private func files() throws(UsageError) -> InitialFiles {
        guard !unit || !compose else { throw UsageError("--unit and --compose cannot be given together") }
        guard data == nil || !(unit || compose) else {
            throw UsageError(
                "--data cannot be given with --unit or --compose: a unit's data is in /var/lib/ringline, a container's in "
                    + "a volume"
            )
        }
        let address = try SettingsSource(flags: ["listen": [listen]])[\.listen]
        try Self.requireOneLine(folder, data ?? "")
        // The unit's user is another one.
        try DataFolderSetup.prepare(folder, option: "init", permissions: unit ? 0o755 : 0o700)
        guard let path = realpath(folder, nil) else { throw UsageError("the folder \(folder) cannot be opened") }
        defer { free(path) }
        let folder = String(cString: path)
        try Self.requireOneLine(folder)
        return InitialFiles(
            folder: folder,
            listen: address,
            data: data,
            kind: unit ? .unit : compose ? .compose : .plain
        )
    }

    /// Refuses paths that no line of a configuration file can hold.
    private static func requireOneLine(_ paths: String...) throws(UsageError) {
        for path in paths where path.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            throw UsageError("init: \(path) has a line end or a control character")
        }
    }
}

/// The files that `ringline init` writes into a folder.
struct InitialFiles {
    /// What runs the server.
    enum Kind {
        /// By hand, or by something else.
        case plain
        case unit
        case compose
    }

    let folder: String
    let listen: ListenAddress
    /// The data folder that the user has named.
    let data: String?
    let kind: Kind

    /// The path of the configuration file.
    var configuration: String { "\(folder)/ringline.conf" }
    private var secrets: String { "\(folder)/secrets" }
    private var secret: String { "\(secrets)/jwt-secret" }
    private var binary: String {
        // The link is missing only where /proc is.
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "/usr/bin/ringline"
    }

    /// The files except the secret, with their texts.
    private var texts: [(path: String, text: String)] {
        let ownData = kind == .unit ? "/var/lib/ringline" : "\(folder)/data"
        let values = ["listen": listen.text, "data": data ?? ownData, "jwt-secret-file": secret]
        let file = (configuration, Setting.file(values))
        switch kind {
        case .plain: return [file]
        case .unit:
            let unit = ServiceUnit.text(binary: binary, configuration: configuration, secret: secret)
            return [file, ("\(folder)/ringline.service", unit)]
        case .compose: return [file, ("\(folder)/compose.yaml", ComposeFile.text(publishing: listen))]
        }
    }

    /// The settings of the configuration file, before it is written.
    var settings: ServeSettings {
        get throws(UsageError) {
            let file = try ConfigurationFile.parse(texts[0].text, path: configuration)
            return try ServeSettings(SettingsSource(environment: ProcessInfo.processInfo.environment, file: file))
        }
    }

    /// Writes all files, or none if one of them exists.
    func write() throws(UsageError) {
        let existing = texts.map(\.path).filter { path in
            // A link that leads nowhere exists too.
            var status = stat()
            return lstat(path, &status) == 0 || errno != ENOENT
        }
        guard existing.isEmpty else {
            throw UsageError("\(existing.joined(separator: ", ")) exists, and is not overwritten; nothing was written")
        }
        try DataFolderSetup.prepare(secrets, option: "init")
        do throws(SecretFileError) { _ = try SecretFile.loadOrCreate(secret) } catch {
            throw UsageError("\(error)")
        }
        // The container's user is another one. Only the owner of the folder can enter it.
        if kind == .compose { chmod(secret, 0o444) }
        for (path, text) in texts { try Self.create(path, text) }
    }

    /// Creates a file that everybody may read, whatever the umask is; fails if the name exists.
    ///
    /// The server may run as another user.
    private static func create(_ path: String, _ text: String) throws(UsageError) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard file >= 0 else { throw UsageError("cannot create \(path): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        let bytes = Array(text.utf8)
        fchmod(file, 0o644)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw UsageError("cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }

    /// A line for each file, and for each one that the unit cannot reach.
    var report: [String] {
        let hidden = kind == .unit ? [binary, configuration].filter(ServiceUnit.hides) : []
        return texts.map { "wrote  \($0.path)" } + ["secret \(secret)"]
            + hidden.map {
                "warning  the unit cannot reach \($0): it has a user of its own, no homes and its own /tmp. "
                    + "Fix: use /etc/ringline, and a binary in /usr/bin"
            }
    }

    /// The commands with which the user goes on.
    var next: [String] {
        switch kind {
        case .plain: ["ringline serve --config \(configuration.shellWord)"] + firstCall
        case .unit: ["systemctl enable --now \("\(folder)/ringline.service".shellWord)"] + firstCall
        case .compose: ["docker compose -f \("\(folder)/compose.yaml".shellWord) up -d"] + firstCall
        }
    }

    /// The commands of a first call, each for a terminal of its own.
    private var firstCall: [String] {
        func token(_ user: String, _ name: String) -> String {
            "--token \"$(ringline token --jwt-secret-file \(secret.shellWord) --user \(user) --name \(name))\""
        }
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][listen.host] ?? listen.host
        let address = ListenAddress(host: host, port: listen.port).text
        let url = address == "127.0.0.1:8080" ? "" : " --url ws://\(address)/ws"
        return ["ringline answer\(url) \(token("10", "Hanako"))", "ringline call --to 10\(url) \(token("11", "Taro"))"]
    }
}

extension String {
    /// The text as one word of a shell's command line.
    fileprivate var shellWord: String {
        let isPlain = unicodeScalars.allSatisfy { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789/._-+,:@%".unicodeScalars.contains(scalar))
        }
        let parts = split(separator: "'", omittingEmptySubsequences: false)
        return isPlain ? self : "'\(parts.joined(separator: "'\\''"))'"
    }
}
