package import CallPorts

/// The order in which the routes of a device are tried (protocol, section 6).
extension DeviceRecord {
    /// Whether VoIP pushes seem to have no effect, so that an alert rings the device first.
    private var hasIneffectiveVoIPPushes: Bool {
        unansweredPushes >= Self.pushesUntilAlert && token(for: .alert) != nil
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
                [.alert, .firebase, .web, .voip]
            } else if isAppleDevice {
                [.voip, .alert, .firebase, .web]
            } else {
                [.firebase, .web, .alert]
            }
        return order.first { token(for: $0) != nil && !refused.contains($0) }
    }

    /// The kind of push that shows or brings a notice; `nil` = no push can.
    var noticePush: PushKind? {
        let order: [PushKind] = isAppleDevice ? [.alert, .firebase, .web] : [.firebase, .web, .alert]
        return order.first { token(for: $0) != nil }
    }
}
