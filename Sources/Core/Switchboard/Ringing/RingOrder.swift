package import CallCore
package import CallPorts

/// The order in which the routes of a device are tried (protocol, section 6).
extension DeviceRecord {
    /// Whether VoIP pushes seem to have no effect, so that an alert rings the device first.
    private var hasIneffectiveVoIPPushes: Bool {
        unansweredPushes >= Self.pushesUntilAlert && routes.has(.alert)
    }

    /// The kind of push that rings the device; `nil` = no push can.
    package var ringingPush: PushKind? { ringingPush(excluding: []) }

    /// Returns the best kind of push that rings the device, without the kinds that were refused for good; `nil` = no
    /// push can.
    func ringingPush(excluding refused: Set<PushKind>) -> PushKind? {
        // The VoIP token of an Apple device may just have been removed.
        let isAppleDevice = isAppleDevice || refused.contains(.voip)
        let order: [PushKind] =
            if hasIneffectiveVoIPPushes {
                PushKind.alertFirst
            } else if isAppleDevice {
                PushKind.allCases
            } else {
                PushKind.alertLast
            }
        return order.first { routes.has($0) && !refused.contains($0) }
    }

    /// The kind of push that shows or brings a notice; `nil` = no push can.
    var noticePush: PushKind? {
        let order = isAppleDevice ? PushKind.alertFirst : PushKind.alertLast
        return order.first { $0 != .voip && routes.has($0) }
    }
}

extension PushKind {
    private static let throughOthers = allCases.filter { !$0.isThroughAPNs }
    /// The order on a device on which VoIP pushes have no effect, and that of notices on Apple's.
    fileprivate static let alertFirst: [PushKind] = [.alert] + throughOthers + [.voip]
    /// The order on a device that is not Apple's.
    fileprivate static let alertLast: [PushKind] = throughOthers + [.alert]
}
