package import CallCore
package import CallPorts

/// Adoption: a connection continues under a new owner of the calls, and its client notices nothing.
extension Switchboard {
    /// Takes over a connection that an earlier owner had opened and welcomed.
    ///
    /// An adoption is no sign of life of the device: the connection may be half open.
    mutating func adopted(
        _ id: SocketID,
        _ principal: Principal,
        device: DeviceID?,
        assigned: DeviceID?,
        openFor: Moment.Duration,
        seen: [CallNumber: UInt64]
    ) {
        guard mayOpen(id, principal, isStateless: false) else { return }
        if let end = tokenEnd(of: principal), turn.now >= end {
            close(id, code: 4401, "the token has expired")
            return
        }
        let openFor = max(openFor, .milliseconds(0))
        let (identity, isNamed) = identify(principal, naming: device, assigned: assigned, isStateless: false)
        let own = connections.of(principal.user)
        if isNamed, let other = own.first(where: { $0.device.id == identity.id }) {
            // The nodes bring a device's connections in any order: the one that was opened last is in use.
            guard openFor <= turn.now - other.openedAt else {
                close(id, code: 4409, Self.replacedReason)
                return
            }
            close(other.id, code: 4409, Self.replacedReason)
            closed(other.id, isReplaced: true)
        } else if own.count >= policy.connectionsPerUser {
            rejectAsTooMany(id)
            return
        }
        let connection = insert(id, principal, identity, isNamed: isNamed, isStateless: false, openFor: openFor)
        connection.isAdopted = true
        // Pongs to the pings of earlier owners may still come. A random beginning keeps the numbers of all owners apart:
        // one owner sends a connection fewer than 2³² pings.
        connection.pings = ((ports.random.next() >> 33) + 1) << 32
        replayEverything(to: connection, seen: nil, written: seen)
        scheduleCheckUp(of: connection)
        if own.isEmpty { tellPresence(of: principal.user, isOnline: true) }
    }

    /// Returns the id of a connection's device: its client's own, or the one that was given to it and is in its welcome.
    package func device(of id: SocketID) -> DeviceID? { connections[id]?.device.id }
}
