import CallCore
import CallPorts

/// A push that is under way: its device, its purpose and what is needed to send it again.
struct PendingPush {
    /// The call; `nil` for a text's push.
    let call: CallNumber?
    /// The user who sent the text; `nil` for a call's push.
    var textFrom: UserID?
    var user: UserID
    var device: DeviceID
    var route: PushRoute
    /// When the push was handed to the push service.
    var sentAt: Moment
    /// The news of a call that no longer rings; `nil` = the push rings a device, or carries a text.
    var afterRinging: AfterRinging?
    /// The push of a notice, kept so that it can be sent again unchanged; `nil` = the push rings a device, and is built
    /// for each attempt.
    var original: OutgoingPush?
    /// Whether a notice was sent to the other environment, because the first one does not know the push token.
    var triedOther = false
    /// The number of attempts to send a notice.
    var attempts = 1

    /// What a push says about a call that no longer rings.
    enum AfterRinging: String {
        /// The call was missed.
        case missed
        /// The call is over for this device, and its alert is out of date.
        case over
    }

    var token: String { route.token }
    var kind: PushKind { route.kind }

    /// The purpose of the push, as the timeline names it.
    var purpose: TimelineEvent.Push {
        switch afterRinging {
        case .missed: .missed
        case .over: .over
        case nil: .ring(kind)
        }
    }

    /// Whether the push is a notice, which rings no device: it is for a text, or follows the ringing.
    var isNotice: Bool { call == nil || afterRinging != nil }
}

/// The pushes that are under way, and the guard against deleting the push tokens of all devices.
struct PushDispatcher {
    private var underWay: [PushID: PendingPush] = [:]
    /// The notices that wait to be sent again.
    private var waiting: [PushID: PendingPush] = [:]
    private var lastID: UInt64 = 0
    var breaker = DeletionBreaker()

    /// The number of pushes under way.
    var count: Int { underWay.count }

    mutating func makeID() -> PushID {
        lastID += 1
        return PushID(rawValue: lastID)
    }

    /// Records a push that is handed to the push service.
    mutating func insert(_ push: PendingPush, as id: PushID) { underWay[id] = push }

    /// Removes and returns a push that has its result; `nil` = no such push is under way.
    mutating func remove(_ id: PushID) -> PendingPush? { underWay.removeValue(forKey: id) }

    /// Makes a notice wait for its next attempt, which has this number.
    mutating func wait(_ push: PendingPush, as id: PushID) { waiting[id] = push }

    /// Removes and returns a notice that waits; `nil` = no such notice waits any more.
    mutating func removeWaiting(_ id: PushID) -> PendingPush? { waiting.removeValue(forKey: id) }

    /// Returns the notices that wait to be sent to a device or, if `token` is not `nil`, to this push token, oldest first.
    func waiting(for device: DeviceID, of user: UserID, token: String?) -> [PushID] {
        waiting.filter { _, push in push.user == user && push.device == device && token ?? push.token == push.token }
            .keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// Returns the pushes under way to a device or, if `token` is not `nil`, to this push token of the device, oldest
    /// first.
    ///
    /// `onlyNotices`: Leaves out the pushes of ringing calls.
    func underWay(to device: DeviceID, of user: UserID, token: String?, onlyNotices: Bool) -> [PushID] {
        underWay.filter { _, push in
            push.user == user && push.device == device && token ?? push.token == push.token
                && (!onlyNotices || push.isNotice)
        }
        .keys.sorted { $0.rawValue < $1.rawValue }
    }
}
