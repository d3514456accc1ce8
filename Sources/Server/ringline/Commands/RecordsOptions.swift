import ArgumentParser
import FoundationEssentials

/// The options of commands that read a server's records: from a data folder, from a backup, or from a database.
struct RecordsOptions: ParsableArguments {
    @Option(help: "The server's data folder, or a backup (default: the variable RINGLINE_DATA, else ./data).")
    var data: String?
    @OptionGroup var database: DatabaseOptions

    /// Returns the place that is named.
    ///
    /// An option precedes the environment: with `--data`, a variable that names a database is ignored.
    func place(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(UsageError) -> RecordsPlace {
        guard let data else {
            let source = database.source(environment: environment)
            guard let settings = try source.database() else { return .folder(DataFolderSetup.standard) }
            return .database(settings, passwordFile: try source[\.storePasswordFile])
        }
        guard database.store == nil else {
            throw UsageError("--data and --store cannot be given together: a server's records are in one of the two")
        }
        // Only what is given as an option can be wrong here.
        _ = try database.source(environment: [:]).database()
        return .folder(data)
    }
}

/// The options that name a PostgreSQL database, as those of `serve` do.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server's PostgreSQL database, postgres://user@host/database (default: the variable RINGLINE_STORE).",
            valueName: "URL"
        )
    )
    var store: String?
    @Option(
        help: ArgumentHelp(
            "The password for the database (default: the variable RINGLINE_STORE_PASSWORD_FILE).",
            valueName: "FILE"
        )
    )
    var storePasswordFile: String?

    /// Returns the settings that the options or the environment give.
    func source(environment: [String: String] = ProcessInfo.processInfo.environment) -> SettingsSource {
        let flags = ["store": store, "store-password-file": storePasswordFile].compactMapValues { $0.map { [$0] } }
        return SettingsSource(flags: flags, environment: environment)
    }
}
