package import CallCore

/// The port to the endpoints of the app's backend, which receive events.
///
/// The method returns immediately, and may be called only on the event loop that owns the switchboard. Each delivery
/// gets exactly one result, at the latest after ``EventRequest/timeout``. The adapter passes the result, on that event
/// loop, to the receiver that the adapter was created with.
package protocol EventSender: AnyObject, Sendable {
    /// Posts an event to an endpoint, signed as Standard Webhooks demands.
    func send(_ request: EventRequest)
}

/// The number of a delivery, which its result repeats; counts up from 1 in one run of the server.
package struct DeliveryID: Hashable, Comparable, Sendable {
    /// The number.
    package let rawValue: UInt64

    /// The delivery with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Whether `a` was begun before `b`.
    @inlinable
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// An event on its way to an endpoint.
package struct EventRequest: Equatable, Sendable {
    /// The number that the result repeats.
    package var id: DeliveryID
    /// The endpoint's address.
    package var url: String
    /// The event's id (``AppEvent/id``).
    package var eventID: String
    /// The event as JSON (``AppEvent/body(in:)``).
    package var body: [UInt8]

    /// How long an endpoint has to respond.
    package static let timeout = Moment.Duration.seconds(10)

    /// A delivery of an event.
    package init(id: DeliveryID, url: String, eventID: String, body: [UInt8]) {
        self.id = id
        self.url = url
        self.eventID = eventID
        self.body = body
    }
}

/// The result of a delivery.
package enum DeliveryResult: Equatable, Sendable {
    /// The endpoint responded; `retryAfter` is its header of that name, as a duration from now.
    case response(status: Int, retryAfter: Moment.Duration?)
    /// There was no response. The text says why in plain words, without addresses.
    case unreachable(String)
}
