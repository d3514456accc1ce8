package import CallCore
import CallPorts
import CallWire
import JSON

extension Switchboard {
    /// The calls that a service lists (protocol, section 15.2).
    package struct CallFilter: Equatable, Sendable {
        /// The user who began or received the calls; `nil` = all users.
        package var user: UserID?
        /// Whether the calls are live; `nil` = live and ended ones.
        package var isLive: Bool?
        /// Why the calls ended; `nil` = for any reason.
        package var reason: EndReason?
        /// The moment from which on the calls began; `nil` = at any moment.
        package var since: Moment?
        /// The number below which the calls are; `nil` = the newest calls.
        package var before: CallNumber?
        /// The largest number of calls in the response.
        package var count: Int

        /// The largest number of calls in a response.
        package static let maximumCount = 500
        /// The number of calls that are read for a response of a filter that leaves calls out.
        static let readCount = 1_000

        /// A filter with the given members.
        package init(
            user: UserID? = nil,
            isLive: Bool? = nil,
            reason: EndReason? = nil,
            since: Moment? = nil,
            before: CallNumber? = nil,
            count: Int = 50
        ) {
            self.user = user
            self.isLive = isLive
            self.reason = reason
            self.since = since
            self.before = before
            self.count = count
        }

        /// The number of calls to read from the store: one more than are shown tells whether there is a next page.
        var limit: Int { isLive == nil && reason == nil ? count + 1 : Self.readCount }

        /// Returns the calls of a page among those that were read, newest first, and the number below which the next
        /// page begins; `nil` = there is no further page.
        func page(among read: [CallRecord]) -> (calls: [CallRecord], next: CallNumber?) {
            var shown: [CallRecord] = []
            for call in read {
                if let since, call.startedAt < since { return (shown, nil) }
                guard isLive.map({ $0 == (call.endedAt == nil) }) ?? true, reason == nil || reason == call.reason
                else { continue }
                if shown.count == count { return (shown, shown.last?.number) }
                shown.append(call)
            }
            return (shown, read.count < limit ? nil : read.last?.number)
        }
    }
}

/// Calls as a service reads them: the member `call` of their events, but for the moment of the ringing.
enum ServiceCallView {
    /// Returns a page of calls.
    static func page(_ page: (calls: [CallRecord], next: CallNumber?)) -> [UInt8] {
        var json = JSONWriter(capacity: 64 + page.calls.count * 384)
        json.beginObject()
        json.name("calls")
        json.array(page.calls) { call, json in write(call, into: &json) }
        json.name("next")
        if let next = page.next { json.plain("\(next.rawValue)") } else { json.null() }
        json.endObject()
        return json.bytes
    }

    /// Returns one call.
    static func one(_ call: CallRecord) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        write(call, into: &json)
        return json.bytes
    }

    private static func write(_ call: CallRecord, into json: inout JSONWriter) {
        json.beginObject()
        json.name("callId")
        json.plain(call.id.text)
        json.name("epoch")
        json.value(call.epoch)
        json.name("caller")
        json.plain(call.caller.text)
        json.name("callee")
        json.plain(call.callee.text)
        json.name("group")
        json.null()
        json.name("hasVideo")
        json.value(call.hasVideo)
        json.name("state")
        json.plain(call.state.rawValue)
        let moments = [
            ("startedAt", call.startedAt), ("answeredAt", call.answeredAt), ("activeAt", call.activeAt),
            ("endedAt", call.endedAt),
        ]
        for (name, moment) in moments {
            json.name(name)
            if let moment { json.value(moment.milliseconds) } else { json.null() }
        }
        json.name("answeredBy")
        if call.answeredAt != nil, let device = call.session.answeringDevice {
            json.beginObject()
            json.name("user")
            json.plain(call.callee.text)
            json.name("device")
            json.plain(device.id.text)
            json.endObject()
        } else {
            json.null()
        }
        json.name("reason")
        if let reason = call.reason { json.plain(reason.rawValue) } else { json.null() }
        if let ring = call.scheduled {
            json.name("scheduled")
            json.beginObject()
            json.name("schedule")
            json.plain(ring.schedule.text)
            json.name("occurrence")
            json.value(ring.occurrence.milliseconds)
            json.name("ring")
            json.value(ring.ring)
            json.endObject()
        }
        json.name("data")
        json.null()
        json.endObject()
    }
}
