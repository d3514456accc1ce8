import ArgumentParser

/// Prints the effective configuration of the server, and the source of each value.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Print the effective configuration and the source of each value.",
        discussion: """
            Takes the options of 'ringline serve', reads the same variables and the same file, and starts nothing. \
            Secrets are not shown: they are in files, and only the files' paths are printed.

            Exits with 1 if 'ringline serve' would refuse the configuration; it says why on stderr.

            Examples:
              ringline config --config /etc/ringline/ringline.conf
              docker exec ringline ringline config
              ringline config --table            the table of all settings, in Markdown
            """
    )

    @Flag(help: "Print the table of all settings instead: option, variable, file key, default, meaning (Markdown).")
    var table = false
    @OptionGroup(title: "Options of serve") var options: ServeOptions

    func run() throws {
        do throws(UsageError) {
            guard !table else { return print(Setting.table, terminator: "") }
            let source = try options.source()
            print(source.effective(), terminator: "")
            for warning in source.warnings { UsageError(warning).show() }
            _ = try ServeSettings(source)
        } catch {
            throw error.shown()
        }
    }
}
