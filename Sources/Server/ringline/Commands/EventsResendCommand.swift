import ArgumentParser
import CallCore
import CallPorts
import SQLiteStore
import Switchboard
import Threads

/// Delivers events to the app's backend again.
struct EventsResendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend",
        abstract: "Deliver an event again, or all parked ones since some time.",
        usage: "ringline events resend <id> | --since <time> [<options>]",
        discussion: """
            The events go to every endpoint, also to one that has responded with 410. With a parked event, the earlier \
            parked ones of its call are delivered first. An event that was delivered comes a second time under the same id.

            The command goes through the data folder of the server that owns the calls, also with --store. If no server \
            runs, the next start carries it out.

            Examples:
              ringline events resend evt_1_88213 --data /var/lib/ringline
              ringline events resend --since 3d
            """
    )

    @Argument(help: ArgumentHelp("The event's id, as 'ringline events list' shows it.", valueName: "id"))
    var id: String?
    @Option(help: ArgumentHelp("Deliver the parked events of the last 90s, 30m, 12h or 7d.", valueName: "time"))
    var since: String?
    @Option(help: "The server's data folder.") var data = DataFolderSetup.standard
    @OptionGroup var database: DatabaseOptions

    func run() throws {
        do throws(UsageError) {
            let source = database.source()
            let settings = try source.database()
            let place =
                try settings.map { settings throws(UsageError) in
                    RecordsPlace.database(settings, passwordFile: try source[\.storePasswordFile])
                } ?? .folder(data)
            let reader = try place.open().reader
            let resend: EventDeliveries.Resend
            do throws(StoreFailure) {
                guard try !reader.storedEvents().endpoints.isEmpty else {
                    throw StoreFailure("\(place.shown) has no endpoint: its server must have run with --events-url")
                }
                resend = try demand(in: reader, place)
            } catch { throw UsageError(error.message) }
            let file = CommandFile(.resendEvents(resend))
            let isDone = try file.leave(in: data) { SQLiteCallStore.isHeld(folder: data) }
            let what = id ?? "the parked events"
            print(isDone ? "delivering \(what) again" : "no server runs on \(data): its next start delivers \(what)")
        } catch { throw error.shown() }
    }

    /// Returns what is to be delivered again, after a check that there is such an event.
    private func demand(
        in reader: any StoreReader,
        _ place: RecordsPlace
    ) throws(StoreFailure) -> EventDeliveries.Resend {
        switch (id, since) {
        case (let id?, nil):
            let parts = id.split(separator: "_", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == "evt", let number = Int64(parts[2]), number > 0 else {
                throw StoreFailure("'\(id)' is no event's id: ids are like evt_1_88213")
            }
            let position = EventPosition(rawValue: number)
            let before = EventPosition(rawValue: number - 1)
            let page = try reader.events(EventRead(after: before, upTo: position, count: 1))
            guard page.events.first?.id == id else { throw StoreFailure("\(place.shown) has no event \(id)") }
            return .event(position)
        case (nil, let since?):
            guard let seconds = TokenCommand.seconds(since) else {
                throw StoreFailure("--since must be like 90s, 30m, 12h or 7d, and at most 3650d")
            }
            return .parked(since: Moment(milliseconds: SystemClock.wall() - seconds * 1_000))
        default: throw StoreFailure("name one event by its id, or give --since")
        }
    }
}
