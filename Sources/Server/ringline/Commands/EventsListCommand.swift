import ArgumentParser
import CallCore
import CallPorts
import CallWire
import JSON
import Threads

/// Lists the stored events for the app's backend, or those that are parked.
struct EventsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the newest events for your backend, or those that are parked.",
        usage: "ringline events list [--parked] [--call <id>] [--limit <count>] [<options>]",
        discussion: """
            Reads the data folder or the database, as of the last commit, whether its server runs or not. An event is \
            parked when it could not be delivered for 3 days, or when an earlier one of its call is.

            Examples:
              ringline events list --data /var/lib/ringline
              ringline events list --parked
              ringline events list --call 11-10
            """
    )

    @OptionGroup var records: RecordsOptions
    @Flag(help: "List only the events that are parked, the oldest first.") var parked = false
    @Option(help: ArgumentHelp("List only the events of calls with this callId.", valueName: "id")) var call: String?
    @Option(help: ArgumentHelp("The most events to list, 1 to 100000.", valueName: "count")) var limit = 1_000

    func run() throws {
        do throws(UsageError) {
            let call = try call.map { text throws(UsageError) in
                guard let id = CallID(text) else {
                    throw UsageError("--call must be \(CallCore.Limits.identifierForm)")
                }
                return id
            }
            guard (1...100_000).contains(limit) else { throw UsageError("--limit must be a number from 1 to 100000") }
            let place = try records.place()
            let reader = try place.open().reader
            let text: String
            do throws(StoreFailure) {
                text = try parked ? parkedEvents(of: call, in: reader) : newestEvents(of: call, in: reader)
                UsageError.show(reader.takeDamages())
            } catch { throw UsageError(error.message) }
            place.leave(CommandTrace("events"))
            print(text, terminator: "")
        } catch { throw error.shown() }
    }

    // MARK: Events

    private func newestEvents(of call: CallID?, in reader: any StoreReader) throws(StoreFailure) -> String {
        let newest = try reader.storedEvents().newest
        // Without a choice, the newest ones are the last positions. With one, they may be anywhere.
        let first = call == nil ? max(0, newest.rawValue - Int64(limit)) : 0
        var after = EventPosition(rawValue: first)
        var events: [AppEvent] = []
        while after < newest {
            let page = try reader.events(
                EventRead(after: after, upTo: newest, callID: call, count: EventRead.limit)
            )
            events = (events + page.events).suffix(limit)
            guard after < page.readUpTo else { break }
            after = page.readUpTo
        }
        guard !events.isEmpty else { return "No events.\n" }
        let rows = events.map { event in
            let about = EventSubject(event)
            return [event.id, Timestamp.text(event.at), event.type.rawValue, about.text, about.number]
        }
        return TextTable(["EVENT", "AT", "TYPE", "ABOUT", "N"], rows).text
    }

    private func parkedEvents(of call: CallID?, in reader: any StoreReader) throws(StoreFailure) -> String {
        var rows: [[String]] = []
        let now = Moment(milliseconds: SystemClock.wall())
        for endpoint in try reader.storedEvents().endpoints {
            var after = EventPosition.start
            while rows.count < limit {
                let found = try reader.heldEvents(
                    HeldRead(url: endpoint.url, .parked(after: after), count: EventRead.limit)
                )
                guard let last = found.last else { break }
                after = last.held.position
                for content in found where rows.count < limit {
                    let about = content.event.map(EventSubject.init)
                    guard call == nil || about?.callID == call?.text else { continue }
                    rows.append([
                        content.event?.id ?? "(deleted, position \(content.held.position.rawValue))",
                        content.event?.type.rawValue ?? "-", about?.text ?? "-", about?.number ?? "-",
                        EventEndpoint.shown(endpoint.url), "\(content.held.attempts)",
                        CallsCommand.span(from: content.held.since, to: now) + " ago",
                    ])
                }
            }
        }
        guard !rows.isEmpty else { return "No parked events.\n" }
        return TextTable(["EVENT", "TYPE", "ABOUT", "N", "ENDPOINT", "ATTEMPTS", "SINCE"], rows).text
    }
}

/// What an event is about, as a table shows it.
private struct EventSubject {
    /// The callId; `nil` = the event is about no call.
    let callID: String?
    /// The call with its epoch, or the user.
    let text: String
    /// The event's number among those of its call.
    let number: String

    init(_ event: AppEvent) {
        // The server has written the data; damaged data have no call to show.
        let object = try? JSONObject(event.data, names: .none)
        let call = object?.member(named: "call").flatMap { member in
            // As above.
            try? JSONObject(event.data, names: .none, in: member.value)
        }
        callID = event.call == nil ? nil : call?.text("callId")
        let epoch = call?.member(named: "epoch").flatMap { call?.integer($0) }.map { " #\($0)" } ?? ""
        text = callID.map { $0 + epoch } ?? event.user?.text ?? "-"
        number = event.number == 0 ? "-" : "\(event.number)"
    }
}
