import ArgumentParser

/// Runs a server for this machine alone, with a page of two phones.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show two phones that call each other, in a browser on this machine.",
        discussion: """
            Everything is kept in memory, and the keys are those of this run. The page's files are made by \
            Sources/RinglineJS/build; Deploy/demo builds everything and starts this command.

            Example: ringline demo
            """
    )

    @Option(help: ArgumentHelp("Listen here; only addresses of this machine are accepted.", valueName: "host:port"))
    var listen = "127.0.0.1:8090"
    @Option(help: ArgumentHelp("The folder that Sources/RinglineJS/build has made.", valueName: "folder"))
    var pages: String?
    @Option(parsing: .singleValue, help: ArgumentHelp("A STUN server, stun:host:port; repeatable.", valueName: "url"))
    var stunUrl: [String] = []
    @Option(parsing: .singleValue, help: ArgumentHelp("A TURN server, turn:host:port; repeatable.", valueName: "url"))
    var turnUrl: [String] = []
    @Option(help: ArgumentHelp("The secret that the TURN server shares.", valueName: "file"))
    var turnSecretFile: String?
    @Option(help: ArgumentHelp("The least severe level to log.", valueName: "level"))
    var logLevel = "warning"

    func run() throws {
        do throws(UsageError) {
            var flags = ["listen": [listen], "admin-listen": ["none"], "data": [":memory:"], "log-level": [logLevel]]
            flags["stun-url"] = stunUrl
            flags["turn-url"] = turnUrl
            flags["turn-secret-file"] = turnSecretFile.map { [$0] }
            let settings = try ServeSettings(SettingsSource(flags: flags))
            guard ListenAddress.isLoopback(settings.listen.host) else {
                throw UsageError(
                    "--listen: must be 127.0.0.1 or [::1], because the page gives its tokens to everybody, not "
                        + "'\(settings.listen.host)'"
                )
            }
            try DemoServer(settings, files: PageFiles(DemoPages.page, in: pages)).run()
        } catch { throw error.shown() }
    }
}
