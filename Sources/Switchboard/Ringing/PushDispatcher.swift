import CallCore
import CallPorts

/// A push that is under way: its device, its purpose and what is needed to send it again.
struct PendingPush {
    /// The call; `nil` for a text's push.
    let call: CallNumber?
    let user: UserID
    let device: DeviceID
    let token: String
    let kind: OutgoingPush.Kind
    var environment: APNsEnvironment
    /// When the push was handed to the push service.
    var sentAt: Moment
    /// Whether the push reports a missed call.
    var tellsMissed = false
    /// The push of a notice (of a text or a missed call), kept so that the same push can go to the other environment if
    /// the first one does not know the push token; `nil` = it must not be sent again.
    ///
    /// The push that rings a device is not kept: it is built anew for each attempt.
    var notice: OutgoingPush?

    /// The purpose of the push, as the timeline names it.
    var purpose: TimelineEvent.Push { tellsMissed ? .missed : kind == .alert ? .alert : .voip }

    /// Whether the push is a notice, of a text or a missed call, and so does not ring a device.
    var isNotice: Bool { call == nil || tellsMissed }
}

/// The pushes that are under way, and the guard against deleting the push tokens of all devices.
struct PushDispatcher {
    private var underWay: [PushID: PendingPush] = [:]
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
