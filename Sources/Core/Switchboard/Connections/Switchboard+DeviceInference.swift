package import CallCore
package import CallPorts

/// The device identity of a client without a device id.
///
/// The client is the device that its token stands for (protocol, section 1.3). But an app may renew its token while its
/// connection stays open under the old token, and may return to a call under the new token. The client is then treated
/// as the same device, unless there are signs that the user has another device without an id.
extension Switchboard {
    /// Returns the device that a request comes from; `device` is the device id that the request names.
    func deviceIdentity(asking principal: Principal, named device: DeviceID?) -> DeviceIdentity {
        let own = principal.deviceIdentity(named: device)
        guard mayBeAnother(own, principal) else { return own }
        let open = openUnnamed(of: principal)
        return open.count == 1 ? open[0] : own
    }

    /// Returns the device of a client that opens a connection without naming a device.
    ///
    /// If the user's device without an id is in a call and has no connection, the client is that device. A callee's
    /// device that only rings needs no such rule: it is sent the call anyway. A device that has changed networks
    /// reconnects before its old connection is known to be dead. In that case the client counts as the device in the
    /// call only if the user has registered exactly one device without an id.
    package func deviceIdentity(opening principal: Principal) -> DeviceIdentity {
        let own = DeviceIdentity(unnamed: principal.fingerprint)
        guard mayBeAnother(own, principal) else { return own }
        let open = openUnnamed(of: principal)
        guard open.isEmpty || (open.count == 1 && unnamedRegistrations(of: principal) == 1) else { return own }
        var inCall: DeviceIdentity?
        for call in calls.live(of: principal.user) {
            let device =
                call.side(of: principal.user) == .caller
                ? call.session.callerDevice : call.session.answeringDevice
            guard let device, device.isUnnamed, device != inCall else { continue }
            if inCall != nil { return own }
            inCall = device
        }
        guard let inCall, open.isEmpty || open[0] == inCall else { return own }
        return inCall
    }

    /// Renames a call's device when the device's connection ends or renews its token.
    ///
    /// This concerns a device that began or answered the call by a request without a device id: the call then
    /// identifies the device by its token alone. In the call, the device gets the connection's device id, unless the
    /// user has another connection under that token: the call may belong to that other connection.
    mutating func renameDevice(_ old: DeviceIdentity, as new: DeviceIdentity, in call: Call, _ side: Side) {
        let asked = DeviceIdentity(unnamed: old.fingerprint)
        let isAnothers = connections.of(call.user(on: side)).contains { $0.device.isSame(as: asked) }
        if !isAnothers { process(call, .renewed(asked, as: new, side)) }
    }

    /// Whether a device without an id may be a device that used another token before.
    ///
    /// This is possible if no connection and no live call of the user has its present token, and the user has at most
    /// one registration without a device id.
    private func mayBeAnother(_ own: DeviceIdentity, _ principal: Principal) -> Bool {
        guard own.isUnnamed, !principal.isService,
            !connections.of(principal.user).contains(where: { $0.device.isSame(as: own) }),
            !calls.live(of: principal.user).contains(where: { $0.session.legs.contains { $0.device.isSame(as: own) } })
        else { return false }
        return unnamedRegistrations(of: principal) <= 1
    }

    private func unnamedRegistrations(of principal: Principal) -> Int {
        directory.devices(of: principal.user).count { !$0.isNamed }
    }

    /// Returns the user's devices without an id that have a connection.
    private func openUnnamed(of principal: Principal) -> [DeviceIdentity] {
        var devices: [DeviceIdentity] = []
        for connection in connections.of(principal.user)
        where connection.device.isUnnamed && !devices.contains(connection.device) {
            devices.append(connection.device)
        }
        return devices
    }
}
