public import CallCore
public import CallPorts

/// The device identity of a client without a device id.
///
/// The client is the device that its token stands for (protocol, section 1.3). But an app may renew its token while its
/// connection stays open under the old token, and may return to a call under the new one. It is then treated as the
/// same device, unless there are signs that the user has another device without an id.
extension Switchboard {
    /// Returns the device that a request comes from.
    func phone(asking who: Who, named device: DeviceID?) -> Phone {
        let own = who.phone(named: device)
        guard mayBeAnother(own, who) else { return own }
        let open = openUnnamed(of: who)
        return open.count == 1 ? open[0] : own
    }

    /// Returns the device of a client that opens a connection without naming a device.
    ///
    /// If the user's device without an id is in a call and has no connection, the client is that device. A callee's
    /// device that only rings needs no such rule: it is sent the call anyway. A device that has changed networks
    /// reconnects before its old connection is known to be dead. In that case the client counts as the device in the
    /// call only if the user has registered exactly one device without an id.
    public func phone(opening who: Who) -> Phone {
        let own = Phone(unnamed: who.mark)
        guard mayBeAnother(own, who) else { return own }
        let open = openUnnamed(of: who)
        guard open.isEmpty || (open.count == 1 && unnamedRegistrations(of: who) == 1) else { return own }
        var inCall: Phone?
        for call in calls.live(of: who.user) {
            let phone = call.session.side(of: who.user) == .caller ? call.session.callerPhone : call.session.winner
            guard let phone, phone.isUnnamed, phone != inCall else { continue }
            if inCall != nil { return own }
            inCall = phone
        }
        guard let inCall, open.isEmpty || open[0] == inCall else { return own }
        return inCall
    }

    /// Renames a call's device when the device's connection ends or renews its token.
    ///
    /// This concerns a device that began or answered the call by a request, so that the call identifies it by its token
    /// alone. The device gets the connection's id in the call, unless the user has another connection under that token:
    /// the call may belong to that connection.
    mutating func goesOn(_ old: Phone, as new: Phone, in call: Call, _ side: Side, at now: Moment) {
        let asked = Phone(unnamed: old.mark)
        let isAnothers = connections.of(call.user(on: side)).contains { $0.phone.isSame(as: asked) }
        if !isAnothers { drive(call, .renewed(asked, as: new, side), at: now) }
    }

    /// Whether a device without an id may be a device that used another token before.
    ///
    /// This is possible if no connection and no live call of the user has its present token, and the user has at most
    /// one registration without a device id.
    private func mayBeAnother(_ own: Phone, _ who: Who) -> Bool {
        guard own.isUnnamed, !who.isService,
            !connections.of(who.user).contains(where: { $0.phone.isSame(as: own) }),
            !calls.live(of: who.user).contains(where: { $0.session.legs.contains { $0.phone.isSame(as: own) } })
        else { return false }
        return unnamedRegistrations(of: who) <= 1
    }

    private func unnamedRegistrations(of who: Who) -> Int { directory.devices(of: who.user).count { !$0.isNamed } }

    /// Returns the user's devices without an id that have a connection.
    private func openUnnamed(of who: Who) -> [Phone] {
        var phones: [Phone] = []
        for session in connections.of(who.user) where session.phone.isUnnamed && !phones.contains(session.phone) {
            phones.append(session.phone)
        }
        return phones
    }
}
