import ArgumentParser
import FoundationEssentials

/// Runs a server for this machine alone, with a page of two phones.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show two phones that call each other, in a browser on this machine.",
        usage: "ringline demo [<options>]",
        discussion: """
            Everything is kept in memory, and the keys are those of this run. The page's files are made by \
            Sources/Clients/RinglineJS/build; Deploy/demo builds everything and starts this command.

            The page is for a browser on this machine. For a browser elsewhere, use ssh -L 8090:127.0.0.1:8090.

            Examples:
              ringline demo
              docker run --rm -p 127.0.0.1:8090:8090 ringline demo
            """
    )

    @Option(
        help: ArgumentHelp(
            "Listen here; only addresses of this machine are accepted, unless --published-on is given. Default: "
                + "127.0.0.1:8090, or 0.0.0.0:8090 with --published-on.",
            valueName: "host:port"
        )
    )
    var listen: String?
    @Option(
        help: ArgumentHelp(
            "In a container: where the machine publishes the port, for its own browsers only. Default: "
                + "the variable RINGLINE_DEMO_PUBLISHED_ON, which the image sets.",
            valueName: "host:port"
        )
    )
    var publishedOn: String?
    /// The variable with which the image says where its port is published.
    static let publishedVariable = "RINGLINE_DEMO_PUBLISHED_ON"

    @Option(help: ArgumentHelp("The folder that Sources/Clients/RinglineJS/build has made.", valueName: "folder"))
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
            let environment = ProcessInfo.processInfo.environment
            let published = publishedOn ?? environment[Self.publishedVariable]
            // The image names an admin listener, which its health check asks. Elsewhere the name is that of a real server.
            let admin = published == nil ? nil : environment["RINGLINE_ADMIN_LISTEN"]
            var flags = ["admin-listen": [admin ?? "none"], "data": [":memory:"], "log-level": [logLevel]]
            flags["listen"] = listen.map { [$0] }
            flags["stun-url"] = stunUrl
            flags["turn-url"] = turnUrl
            flags["turn-secret-file"] = turnSecretFile.map { [$0] }
            let settings = try ServeSettings(SettingsSource(flags: flags))
            let host = try DemoHost(listen: listen == nil ? nil : settings.listen, published: published)
            try DemoServer(settings, host, files: PageFiles(DemoPages.page, in: pages)).run()
        } catch { throw error.shown() }
    }
}
