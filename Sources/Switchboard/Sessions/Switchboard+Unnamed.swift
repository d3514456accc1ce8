public import CallCore

/// Which phone a client is that names no device.
///
/// It is the phone that its token stands for (protocol, section 9). But an app renews its token while its socket stays
/// open under the old one, and comes back in a call under the new one: then it is the phone that it was before, as long as
/// nothing speaks for the user having another one.
extension Switchboard {
    /// The phone that a request comes from.
    func phone(asking who: Who, named device: DeviceID?) -> Phone {
        let own = who.phone(named: device)
        guard mayBeAnother(own, who) else { return own }
        let open = openUnnamed(of: who)
        return open.count == 1 ? open[0] : own
    }

    /// The phone that opens a session and names no device.
    ///
    /// One that is in a call and has no session has come back; a callee's phone that only rings is told of the call anyway.
    /// A phone that has changed networks comes back before its old session is known to be dead: it is taken for the one that
    /// is in the call only if the user has registered just one.
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

    /// A session ends or renews its token: a phone that its call knows by the token alone, because it answered or began
    /// by a request, goes by the session's name from now on.
    ///
    /// Unless another session of that token goes on: the call may be that one's.
    func goesOn(_ old: Phone, as new: Phone, in call: Call, _ side: Side, at now: Moment) {
        let asked = Phone(unnamed: old.mark)
        let isAnothers = sessionsByUser[call.user(on: side)]?.contains { $0.phone.isSame(as: asked) } ?? false
        if !isAnothers { drive(call, .renewed(asked, as: new, side), at: now) }
    }

    /// Whether a phone without a name may be one that came under another token: the server has not met its own, and knows
    /// of no two phones of the user that have no name.
    private func mayBeAnother(_ own: Phone, _ who: Who) -> Bool {
        guard own.isUnnamed, !who.isService,
            sessionsByUser[who.user]?.contains(where: { $0.phone.isSame(as: own) }) != true,
            !calls.live(of: who.user).contains(where: { $0.session.legs.contains { $0.phone.isSame(as: own) } })
        else { return false }
        return unnamedRegistrations(of: who) <= 1
    }

    private func unnamedRegistrations(of who: Who) -> Int { directory.devices(of: who.user).count { !$0.isNamed } }

    /// The user's phones without a name that have a session.
    private func openUnnamed(of who: Who) -> [Phone] {
        var phones: [Phone] = []
        for session in sessionsByUser[who.user] ?? [] where session.phone.isUnnamed && !phones.contains(session.phone) {
            phones.append(session.phone)
        }
        return phones
    }
}
