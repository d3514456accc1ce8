import CallCore
import CallWire
package import JSON

extension AppEvent {
    /// The id, which never changes; the header `webhook-id` of its deliveries.
    package var id: String { "evt_\(incarnation.rawValue)_\(position.rawValue)" }

    /// Returns the event as it is delivered, one JSON object.
    ///
    /// `incarnation`: That of the database now, which the cursor names.
    package func body(in incarnation: EventIncarnation) -> [UInt8] { posted(in: incarnation).body }

    /// Returns the same, and the ``id``, which is read from it: to make the text twice would cost more.
    package func posted(in incarnation: EventIncarnation) -> (id: String, body: [UInt8]) {
        var json = JSONWriter(capacity: data.count + 160)
        let id = json.event(self, in: incarnation)
        let body = json.bytes
        return (String(decoding: body[id], as: UTF8.self), body)
    }
}

extension JSONWriter {
    /// Writes an event as it is delivered and as the feed shows it.
    ///
    /// `incarnation`: That of the database now, which the cursor names.
    ///
    /// Returns the range of the id among the bytes that were written.
    @discardableResult
    package mutating func event(_ event: AppEvent, in incarnation: EventIncarnation) -> Range<Int> {
        beginObject()
        part(Parts.type)
        plainPart(event.type.rawValue)
        part(Parts.timestamp)
        timestamp(event.at)
        part(Parts.id)
        let start = bytes.count - Parts.idPrefixCount
        place(event.incarnation, event.position)
        let end = bytes.count
        part(Parts.cursor)
        place(incarnation, event.position)
        part(Parts.data)
        part(event.data)
        endObject()
        return start..<end
    }

    /// Writes the two numbers of an id or a cursor.
    private mutating func place(_ incarnation: EventIncarnation, _ position: EventPosition) {
        digits(UInt64(incarnation.rawValue), UInt64(UInt8(ascii: "_")), count: 1, position.rawValue.magnitude)
    }

    // The names and the punctuation between the values of an event: a constant costs a third of what a name and its
    // punctuation cost one by one.
    private enum Parts {
        static let type = Array(#""type":""#.utf8)
        static let timestamp = Array(#"","timestamp":"#.utf8)
        static let id = Array(#","id":"evt_"#.utf8)
        static let cursor = Array(#"","cursor":""#.utf8)
        static let data = Array(#"","data":"#.utf8)
        static let idPrefixCount = 4
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
