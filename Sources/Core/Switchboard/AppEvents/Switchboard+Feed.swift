package import CallCore
package import CallPorts
package import CallWire
import JSON

extension Switchboard {
    /// A read of the feed of events (protocol, section 13.4).
    package struct FeedRead: Equatable, Sendable {
        /// The place after which events are read; `nil` = the beginning of what is kept.
        package var after: EventCursor?
        /// The types that are wanted; `nil` = all.
        package var types: Set<AppEventType>?
        /// The callId of the calls whose events are wanted; `nil` = all events.
        package var callID: CallID?
        /// The largest number of events in the response.
        package var count: Int
        /// How long to wait for an event; 0 = respond immediately.
        package var wait: Moment.Duration

        /// The largest number of events in a response.
        package static let maximumCount = 500

        /// A read with the given members.
        package init(
            after: EventCursor? = nil,
            types: Set<AppEventType>? = nil,
            callID: CallID? = nil,
            count: Int = maximumCount,
            wait: Moment.Duration = .seconds(0)
        ) {
            self.after = after
            self.types = types
            self.callID = callID
            self.count = count
            self.wait = wait
        }
    }
}

/// The reads of the feed that wait for the next event.
struct FeedWaits {
    /// A read that waits.
    struct Wait {
        var feed: Switchboard.FeedRead
        let until: Moment
    }

    private var waits: [RequestID: Wait] = [:]

    /// The reads that wait, in the order in which they came.
    var ids: [RequestID] { waits.keys.sorted { $0.rawValue < $1.rawValue } }

    var count: Int { waits.count }

    mutating func insert(_ wait: Wait, as id: RequestID) { waits[id] = wait }

    mutating func remove(_ id: RequestID) -> Wait? { waits.removeValue(forKey: id) }
}

/// The feed: the events that are kept, in the order of their commits.
extension Switchboard {
    mutating func readFeed(_ feed: FeedRead, by principal: Principal, as id: RequestID) {
        guard principal.isService else { return refuse(id, Self.onlyServices) }
        guard appEvents.areWanted else { return refuse(id, Self.noEvents) }
        if let after = feed.after, after.incarnation != appEvents.incarnation || after.position > appEvents.newest {
            // The oldest position is read, so that the refusal can name it.
            return submitFeed(feed, from: .start, count: 1, as: id)
        }
        submitFeed(feed, from: feed.after?.position ?? .start, count: feed.count, as: id)
    }

    private mutating func submitFeed(_ feed: FeedRead, from after: EventPosition, count: Int, as id: RequestID) {
        let read = EventRead(after: after, types: feed.types, callID: feed.callID, count: count)
        submit(.events(read), for: .feed(id, feed))
    }

    /// Responds with a page of the feed; makes an empty one wait for the next event.
    mutating func respond(_ page: EventPage, to feed: FeedRead, as id: RequestID) {
        let beginning = EventCursor(appEvents.incarnation, page.oldest?.previous ?? appEvents.durable)
        if let after = feed.after {
            let isOfAnother = after.incarnation != appEvents.incarnation || after.position > appEvents.newest
            guard !isOfAnother, after.position >= beginning.position else {
                return refuse(cursorGone: beginning, as: id)
            }
        }
        let next = EventCursor(appEvents.incarnation, max(page.readUpTo, feed.after?.position ?? beginning.position))
        if page.events.isEmpty, feed.wait > .seconds(0), !connections.isDraining,
            appEvents.feedWaits.count < SwitchboardLimits.feedWaits
        {
            var waiting = feed
            waiting.after = next
            // An event may have become durable since the page was read.
            if appEvents.durable > next.position {
                return submitFeed(waiting, from: next.position, count: feed.count, as: id)
            }
            let until = turn.now + min(feed.wait, policy.longestPoll)
            appEvents.feedWaits.insert(.init(feed: waiting, until: until), as: id)
            schedule(.feed(id), at: until)
            return
        }
        turn.out.append(.reply(id, Reply(body: feedBody(page.events, next: next))))
    }

    private func feedBody(_ events: [AppEvent], next: EventCursor) -> [UInt8] {
        var json = JSONWriter(capacity: events.reduce(64) { $0 + $1.data.count + 160 })
        json.beginObject()
        json.name("events")
        json.array(events) { event, json in json.event(event, in: appEvents.incarnation) }
        json.name("next")
        json.plain(next.text)
        json.endObject()
        return json.bytes
    }

    /// Reads on for the requests that wait for an event.
    mutating func feedGrew() {
        for id in appEvents.feedWaits.ids {
            guard var wait = appEvents.feedWaits.remove(id) else { continue }
            wait.feed.wait = max(.milliseconds(1), wait.until - turn.now)
            submitFeed(wait.feed, from: wait.feed.after?.position ?? .start, count: wait.feed.count, as: id)
        }
    }

    /// Responds to a request that has waited for long enough.
    mutating func feedTimedOut(_ id: RequestID) {
        guard let wait = appEvents.feedWaits.remove(id) else { return }
        let next = wait.feed.after ?? EventCursor(appEvents.incarnation, appEvents.durable)
        turn.out.append(.reply(id, Reply(body: feedBody([], next: next))))
    }

    private mutating func refuse(cursorGone beginning: EventCursor, as id: RequestID) {
        var error = WireError(
            .cursorGone,
            "after: the events that follow this cursor are no longer complete: read on from oldest",
            field: "after"
        )
        error.retryAfterSeconds = nil
        countRefusal(error, .refusedRequest(id, error))
        turn.out.append(.reply(id, Reply(error, adding: "oldest", beginning.text)))
    }

    /// The refusal of a user's request for what only the app's backend may know.
    package static let onlyServices = WireError(.forbidden, "only a service token may make requests under /v1")

    private static let noEvents = WireError(
        .notFound,
        "this server keeps no events: start it with --events-url or --events-feed true"
    )
}
