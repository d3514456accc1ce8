import CallCore
import CallPorts

/// The facts of a call that every frame about its timeline repeats.
struct WatchedCall: Equatable {
    /// The number in the database.
    let number: CallNumber
    let id: CallID
    let epoch: UInt32
    let caller: UserID
    let callee: UserID
    let startedAt: Moment
}

extension WatchedCall {
    /// The facts of a call with this record.
    init(_ record: CallRecord) {
        self.init(
            number: record.number,
            id: record.id,
            epoch: record.epoch,
            caller: record.caller,
            callee: record.callee,
            startedAt: record.startedAt
        )
    }
}

/// The calls that a service's connection watches (protocol, section 3.11).
struct TimelineWatch {
    /// An event that happened while the store was reading the earlier events of the call.
    struct HeldEvent: Equatable {
        let call: WatchedCall
        let record: TimelineRecord
        let origin: EventOrigin
    }

    /// The place where an event is stored.
    enum EventOrigin {
        /// In the timeline.
        case timeline
        /// In the log of its call: it is a signal.
        case log
        /// In the timeline now, and in the log before, which was forgotten.
        case forgottenLog
    }

    /// The number of the watch on its connection.
    let number: UInt64
    /// The callId of the watched calls; `nil` = any.
    let callID: CallID?
    /// A user of the watched calls; `nil` = any.
    let user: UserID?
    /// The events that must follow the replay, until the store has read what to replay; `nil` = events are sent at once.
    var held: [HeldEvent]?

    /// Whether the watch concerns a call.
    func concerns(_ call: CallIdentity) -> Bool {
        (callID ?? call.key.id) == call.key.id && (user.map { call.caller == $0 || call.callee == $0 } ?? true)
    }

    /// Returns the timeline that the store has read, with the events that it has not seen.
    ///
    /// The store sees every event that was written before it was asked, and may see some of those after. So the last
    /// events that it has read may be the first ones that were held.
    static func join(_ stored: [TimelineRecord], _ held: [TimelineRecord]) -> [TimelineRecord] {
        let most = min(stored.count, held.count)
        let common = (0...most).last { stored.suffix($0).elementsEqual(held.prefix($0)) } ?? 0
        return stored + held.dropFirst(common)
    }
}

/// A watch whose replay is being read from the store.
struct PendingWatch {
    let connection: SocketID
    /// The number of the watch on the connection.
    let number: UInt64
    /// The `id` of the client's frame.
    let id: SignalID?
}
