import ArgumentParser
import CallTrace
import Gateway
import Glibc
import LibWebSockets
import ServerLog
import Threads

/// Plays a call between two phones in the terminal, with a server in memory.
struct TryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "See a call in this terminal: a killed app, the push that wakes it, the answer, the verdict.",
        discussion: """
            The server is a real one, in the memory of this command, on a port of 127.0.0.1. The phones are two clients, \
            and Apple's push service is a stand-in, as in 'ringline demo'. Nothing is stored, and it takes six seconds.

            Example: ringline try
            """
    )

    private static let beginning = """
        Taro (user 11) calls Hanako (user 10). The app on her iPhone was killed, so that
        no connection leads to it. Times count from the offer.

        """

    private static let end = """
        What to try next:

          ringline demo        two phones in your browser; in a clone, Deploy/demo
          ringline serve       a server; Deploy/run in a clone also prints two tokens
          ringline explain     the same drawing and verdict for each call of a server
          README.md            what Ringline does, and how to put it into your app
        """

    func run() throws {
        do throws(UsageError) {
            let flags = ["listen": ["127.0.0.1:0"], "admin-listen": ["none"], "data": [":memory:"]]
            let settings = try ServeSettings(SettingsSource(flags: flags))
            var configuration = GatewayConfiguration()
            configuration.server.host = settings.listen.host
            configuration.server.port = settings.listen.port
            configuration.policy = settings.policy
            configuration.version = Version.text
            let pushes = DemoPushes()
            let server = try MemoryServer(settings, names: CallNames(), configuration.clock, .silent)
            let gateway = try server.open(configuration, pushes: pushes)
            let thread: WorkThread
            do throws(WorkThread.Refused) { thread = try WorkThread(named: "server") { gateway.run() } } catch {
                throw UsageError("the system cannot start a thread: \(error.reason)")
            }
            print(Self.beginning)
            let ladder = GrowingLadder()
            let call = try TrialCall(server: server, port: gateway.port, pushes: pushes) {
                ladder.show($0)
                fflush(nil)
            }
            .play()
            gateway.drain()
            thread.join()
            ladder.show(call)
            print("\n\(TextColumn(width: 80, indent: 9).fit(call.parts.verdict))\n\n\(Self.end)")
        } catch { throw error.shown() }
    }
}
