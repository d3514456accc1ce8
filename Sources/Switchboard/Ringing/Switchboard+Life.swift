import CallCore
import CallPorts

/// Signs of life: any authenticated request or connection of a device, or a use of its push's capability.
extension Switchboard {
    /// How old the stored moment of a device's last sign of life may become before a new sign replaces it.
    ///
    /// The moment need not be exact; if every sign were stored, every request would cause a write.
    private static let keepEvery = Moment.Span.seconds(60)

    mutating func showsLife(_ phone: Phone, of user: UserID, isNamed: Bool, at now: Moment) {
        for var device in directory.devices(of: user)
        where device.id == phone.id || (!device.isNamed && !isNamed) {
            let isWorthKeeping = device.unansweredPushes > 0 || now >= device.seenAt + Self.keepEvery
            device.seenAt = now
            device.unansweredPushes = 0
            directory.put(device)
            if isWorthKeeping { changes.append(.device(device)) }
        }
    }
}
