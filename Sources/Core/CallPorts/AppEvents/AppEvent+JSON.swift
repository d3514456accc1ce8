import CallCore
import CallWire
package import JSON

extension AppEvent {
    /// The id, which never changes; the header `webhook-id` of its deliveries.
    package var id: String { "evt_\(incarnation.rawValue)_\(position.rawValue)" }

    /// Returns the event as it is delivered, one JSON object.
    ///
    /// `incarnation`: That of the database now, which the cursor names.
    package func body(in incarnation: EventIncarnation) -> [UInt8] {
        var json = JSONWriter(capacity: data.count + 160)
        json.event(self, in: incarnation)
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes an event as it is delivered and as the feed shows it.
    ///
    /// `incarnation`: That of the database now, which the cursor names.
    package mutating func event(_ event: AppEvent, in incarnation: EventIncarnation) {
        beginObject()
        name("type")
        plain(event.type.rawValue)
        name("timestamp")
        plain(Timestamp.text(event.at))
        name("id")
        plain(event.id)
        name("cursor")
        plain(EventCursor(incarnation, event.position).text)
        name("data")
        raw(event.data[...])
        endObject()
    }
}

/// A place in the feed of events, as its readers keep it: the incarnation of the database that has named it, and a
/// position.
package struct EventCursor: Equatable, Sendable {
    /// The incarnation that has named the place.
    package let incarnation: EventIncarnation
    /// The position of the last event that was read.
    package let position: EventPosition

    /// The place after the event at a position.
    package init(_ incarnation: EventIncarnation, _ position: EventPosition) {
        self.incarnation = incarnation
        self.position = position
    }

    /// Reads ``text``; `nil` if it is no cursor.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
        guard parts.count == 2,
            let incarnation = Self.digits(parts[0]).flatMap({ UInt32(exactly: $0) }),
            let position = Self.digits(parts[1])
        else { return nil }
        self.init(EventIncarnation(rawValue: incarnation), EventPosition(rawValue: position))
    }

    /// Reads a number that is written as ``text`` writes it.
    private static func digits(_ text: Substring.UTF8View) -> Int64? {
        guard (1...18).contains(text.count), text.allSatisfy({ (0x30...0x39).contains($0) }),
            text.count == 1 || text.first != 0x30
        else { return nil }
        return text.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// The cursor as text: two numbers, and nothing that a URL would have to escape.
    package var text: String { "\(incarnation.rawValue)_\(position.rawValue)" }
}
