import CallCore
import CallPorts

/// Signs of life: any authenticated request or connection of a device, or a use of its push's capability.
extension Switchboard {
    mutating func noteSignOfLife(_ identity: DeviceIdentity, of user: UserID, isNamed: Bool) {
        for var device in directory.devices(of: user)
        where device.id == identity.id || (!device.isNamed && !isNamed) {
            let isWorthKeeping =
                device.unansweredPushes > 0 || turn.now >= device.seenAt + SwitchboardLimits.signOfLifeStoredEvery
            device.seenAt = turn.now
            device.unansweredPushes = 0
            directory.put(device)
            if isWorthKeeping { commits.append(.device(device)) }
        }
    }

    /// Puts a device into the directory and the store; a device with no push token left is removed from both.
    mutating func store(_ device: DeviceRecord) {
        if device.routes.isEmpty {
            directory.remove(device.id, of: device.user)
            commits.append(.deviceRemoved(device.user, device.id))
        } else {
            directory.put(device)
            commits.append(.device(device))
        }
    }
}
