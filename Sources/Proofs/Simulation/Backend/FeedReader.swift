import CallCore
import CallPorts
import CallWire
import JSON
import SeededRandom
import Switchboard

/// A reader of the feed of events, which keeps its place.
struct FeedReader {
    /// The place up to which it has read; `nil` = it begins.
    var cursor: EventCursor?
    /// The number of the newest read.
    var number = 0
    /// The number of the read whose response it awaits.
    var awaited: Int?
    /// What it has asked for.
    var asked = Switchboard.FeedRead()
    /// Whether it reads everything that is kept, once more and for the last time.
    var isLast = false
    /// The positions that it has read since it began for the last time.
    var found: [EventPosition] = []

    /// Begins to read everything that is kept.
    mutating func readAll() {
        isLast = true
        cursor = nil
        awaited = nil
        found = []
    }
}

extension Backend {
    /// The numbers of requests that read the feed begin after this one; no other request has one.
    private static let firstRequest: UInt64 = 1 << 40

    /// Whether a request reads the feed.
    static func isRead(_ id: RequestID) -> Bool { id.rawValue >= firstRequest && !Decider.isOfCrowd(id) }

    /// Reads the next page of the feed.
    func readFeed() {
        guard feed.awaited == nil else { return }
        feed.number += 1
        feed.awaited = feed.number
        let isWaiting = !feed.isLast && draws.backend.percent(50)
        feed.asked = Switchboard.FeedRead(
            after: feed.cursor,
            types: !feed.isLast && draws.backend.percent(10) ? [.callEnded, .callMissed] : nil,
            count: draws.backend.percent(30) ? draws.backend.below(8) + 1 : 500,
            wait: .seconds(isWaiting ? draws.backend.within(1...30) : 0)
        )
        let id = RequestID(rawValue: Self.firstRequest + UInt64(feed.number))
        after(draws.backend.within(1...50), .feedRead(id, feed.asked))
        after(60_000, .backend(.readTimesOut(feed.number)))
    }

    /// The service that reads the feed.
    static let service = UserID("backend").map {
        Principal(user: $0, fingerprint: TokenFingerprint(rawValue: 9_999), isService: true)
    }

    /// Handles the response to a read of the feed.
    func replied(_ reply: Reply, to id: RequestID) {
        defer { check() }
        guard feed.awaited == Int(id.rawValue - Self.firstRequest) else { return }
        guard reply.status == 200 else {
            if reply.status == 410 { cursorIsGone(reply) }
            return readAgain()
        }
        guard let object = MessageReader.object(reply.body), let next = object.text(of: .next).flatMap(EventCursor.init)
        else { return fail("I27", "a page of the feed cannot be read") }
        let last = told.read(object.elements(of: Key("events")), feed.asked, upTo: next)
        feed.found += last
        let isEnd = feed.asked.after == next
        feed.cursor = next
        if feed.isLast, isEnd || told.newest == next.position {
            told.checkWholeFeed(feed.found)
            return after(0, .finish)
        }
        readAgain()
    }

    func readAgain() {
        feed.awaited = nil
        after(feed.isLast ? draws.backend.within(1...20) : draws.backend.within(200...15_000), .backend(.reads))
    }

    private func cursorIsGone(_ reply: Reply) {
        guard let oldest = MessageReader.object(reply.body)?.text(of: Key("oldest")).flatMap(EventCursor.init) else {
            return fail("I27", "a refused read of the feed does not say where to read on")
        }
        told.checkGone(feed.cursor, oldest: oldest)
        feed.cursor = oldest
        feed.found = []
    }
}
