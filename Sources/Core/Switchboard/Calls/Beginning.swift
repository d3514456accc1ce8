import CallCore
import CallPorts
import CallWire

/// Who begins a call.
enum Beginning {
    /// A user's device, by an offer that the limits on rings allow.
    case byUser(RingLimits.Keys)
    /// The server itself, because a ring of a schedule is due; the caller is a display name.
    indirect case bySchedule(ScheduleRecord, ScheduledRing, ScheduledCall)

    var isByUser: Bool { if case .byUser = self { true } else { false } }

    /// The scheduled call; `nil` = a user makes the call.
    var scheduledCall: ScheduledCall? { if case .bySchedule(_, _, let scheduled) = self { scheduled } else { nil } }
}

extension Switchboard {
    /// Returns the number and the epoch of a call that begins, and counts the call.
    ///
    /// `older`: the previous call with this key.
    mutating func numberCall(_ key: CallKey, after older: Call?) -> (number: CallNumber, epoch: UInt32) {
        metrics.callsBegun += 1
        return (calls.makeNumber(), directory.nextEpoch(of: key, after: older?.epoch, at: turn.now))
    }
}

extension ScheduleRecord {
    /// The caller's name as calls show it; `nil` = there is none.
    var shownName: String? { displayName?.shown(upTo: WireLimits.displayNameCharacters) }
}

extension ScheduledRing {
    /// The ring as the timeline of its call shows it.
    var event: TimelineEvent { .scheduled(schedule, occurrence: occurrence, ring: ring) }
}
