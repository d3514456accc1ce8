public import CallCore
import JSON

/// The offer with which the server itself begins a call, as a schedule asks.
public enum ScheduledOffer {
    /// Returns the offer as a signal: it has no description, and relays the schedule's own members.
    ///
    /// - Parameters:
    ///   - ring: How long the call rings.
    ///   - schedule: The schedule's id.
    ///   - handle: The caller's address for CallKit, and its kind.
    ///   - data: Data of the app's own, a JSON value.
    /// - Returns: The signal, to be relayed as an offer of the schedule's caller.
    public static func message(
        ring: Moment.Duration,
        schedule: ScheduleID,
        handle: (address: String?, type: String?),
        data: String?
    ) -> SignalMessage {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        json.name("schedule")
        json.plain(schedule.text)
        if let address = handle.address {
            json.name("handle")
            json.value(address)
        }
        if let type = handle.type {
            json.name("handleType")
            json.plain(type)
        }
        if let data {
            json.name("data")
            json.raw(ArraySlice(data.utf8))
        }
        json.endObject()
        // The writer writes one object. The data was one JSON value when the schedule was made; a damaged one is left out.
        let object = try? JSONObject(json.bytes)
        let relayed = object.map { RelayedMembers(of: $0, but: []) } ?? .none
        let offer = Offer(digest: 0, hasVideo: false, ringTimeout: ring, namesCallee: true)
        return SignalMessage(signal: Signal(.offer(offer), byteCount: relayed.byteCount), relayed: relayed)
    }
}
