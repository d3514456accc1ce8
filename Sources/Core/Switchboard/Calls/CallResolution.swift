import CallCore
import CallPorts
import CallWire

/// Decides which of several calls under one callId is meant by a signal or a request that does not name the peer.
///
/// Any user may send an offer under the callId of somebody else's call. A signal without a peer must not go to such a
/// user: an answer's SDP would reveal where the device is, and the true caller's call would ring on.
enum CallResolution {
    /// Whether a callId is made of its two users' ids, as in `11-10`: some apps use one callId for all calls of two
    /// users.
    static func isMadeOf(_ id: CallID, _ a: UserID, _ b: UserID) -> Bool {
        let text = id.text
        guard text.utf8.count == a.text.utf8.count + b.text.utf8.count + 1 else { return false }
        return isPairName(text, a, b) || isPairName(text, b, a)
    }

    /// Whether a callId may name `user` and somebody who is not in `call`.
    ///
    /// If so, a signal under the callId may mean a call of these two users, although `call` is live.
    static func mayName(_ id: CallID, _ user: UserID, otherThan call: Call) -> Bool {
        guard id.text.hasPrefix(user.text + "-") || id.text.hasSuffix("-" + user.text) else { return false }
        return !isMadeOf(id, call.caller, call.callee)
    }

    private static func isPairName(_ text: String, _ a: UserID, _ b: UserID) -> Bool {
        // A callId cannot contain the `@` and `+` of a user id: for Socket.IO they are written as `.`.
        zip(text.utf8, "\(a.text)-\(b.text)".utf8).allSatisfy { written, meant in
            written == meant
                || (written == UInt8(ascii: ".") && (meant == UInt8(ascii: "@") || meant == UInt8(ascii: "+")))
        }
    }

    /// Whether an offer under a callId is hidden from its callee, because the callee has a live call under that callId
    /// with somebody else.
    ///
    /// A callId made of the ids of caller and callee belongs to these two, whoever used it first.
    static func isCallIDTaken(
        _ id: CallID,
        for caller: UserID,
        of callee: UserID,
        in calls: borrowing CallTable
    ) -> Bool {
        var known = calls.everything(named: id, of: callee)
        // A client may name a live call by its `callUUID`.
        if known.isEmpty, let live = calls.live(of: callee, withUUID: id) { known = [live] }
        guard !known.isEmpty else { return false }
        let others = known.filter {
            $0.isLive && !$0.key.pair.contains(caller) && $0.side(of: callee) != nil
        }
        guard isMadeOf(id, caller, callee) else { return !others.isEmpty }
        // Because `.` stands for `@` or `+`, one callId can name two pairs of users. The callId then belongs to the
        // pair that has a live call under it.
        return others.contains { isMadeOf(id, $0.caller, $0.callee) }
    }

    /// Returns the call that is meant among the calls of one callId.
    ///
    /// The order of preference is: the oldest live call of the two users whom the callId names; the newest call of
    /// these two users; the oldest live call that the device is in; the user's oldest live call; the newest call.
    static func meant(by user: UserID, _ device: DeviceIdentity?, among calls: [Call]) -> Call? {
        let own = calls.filter { isMadeOf($0.key.id, $0.caller, $0.callee) }
        if let named = own.filter(\.isLive).min(by: { $0.number < $1.number })
            ?? own.max(by: { $0.number < $1.number })
        {
            return named
        }
        let live = calls.filter { $0.isLive }.sorted { $0.number < $1.number }
        if live.count > 1, let device, let part = live.first(where: { isIn($0, user, device) }) { return part }
        return live.first ?? calls.max { $0.number < $1.number }
    }

    /// Whether a device is in a call: the device began or answered the call.
    static func isIn(_ call: Call, _ user: UserID, _ device: DeviceIdentity) -> Bool {
        switch call.side(of: user) {
        case .caller: call.session.isCaller(device)
        case .callee: call.session.answeringDevice?.isSame(as: device) ?? false
        case nil: false
        }
    }

    /// Returns the call that a signal without a peer means.
    ///
    /// A signal may arrive after its call has ended, while somebody else calls the user under the same callId. For ten
    /// seconds after the end, such a signal belongs to the ended call; for two minutes, if the device is not known to
    /// have been notified of the end.
    static func meant(
        by user: UserID,
        _ device: DeviceIdentity,
        signal: (name: SignalID, kind: SignalKind)?,
        among calls: [Call],
        at now: Moment
    ) -> Call? {
        guard calls.count > 1 else { return calls.first }
        if let signal, let taker = calls.first(where: { hasAccepted(signal, from: device, of: user, in: $0) }) {
            return taker
        }
        guard let meant = meant(by: user, device, among: calls), meant.isLive,
            meant.side(of: user) == .callee, !isIn(meant, user, device),
            !isMadeOf(meant.key.id, meant.caller, meant.callee)
        else { return Self.meant(by: user, device, among: calls) }
        let earlier = calls.filter { $0.number < meant.number }.max { $0.number < $1.number }
        guard let earlier, let endedAt = earlier.endedAt, let side = earlier.side(of: user) else {
            return meant
        }
        if now < endedAt + SwitchboardLimits.lateSignalsFor { return earlier }
        return now < endedAt + SwitchboardLimits.lateSignalsForUnnotified
            && earlier.session.hasUndeliveredEnd(to: device, side: side)
            ? earlier : meant
    }

    private static func hasAccepted(
        _ signal: (name: SignalID, kind: SignalKind),
        from device: DeviceIdentity,
        of user: UserID,
        in call: Call
    ) -> Bool {
        guard let side = call.side(of: user) else { return false }
        return call.session.hasAccepted(signal.name, signal.kind, from: device, on: side)
    }
}

extension Switchboard {
    /// Returns why a new call is hidden from its callee; `nil` = the call is shown.
    func reasonToHide(
        _ id: CallID,
        _ beginning: Beginning,
        of caller: UserID,
        from callee: UserID,
        _ offer: SignalMessage
    ) -> CallRecord.Hidden? {
        if isNumberBlocked(in: offer, of: caller, by: callee) { return .block }
        let reason = directory.reasonToHide(caller, from: callee, at: turn.date)
        switch beginning {
        case .byUser:
            return reason
                ?? (CallResolution.isCallIDTaken(id, for: caller, of: callee, in: calls) ? .callIDTaken : nil)
        // See `isSilencedByDoNotDisturb(_:)`.
        case .bySchedule(let record, _, _): return reason == .doNotDisturb && record.isOwn ? nil : reason
        }
    }

    /// Records that a call is hidden from its callee, and why.
    mutating func noteHidden(_ call: Call) {
        guard let hidden = call.hidden else { return }
        metrics.callsHidden[hidden, default: 0] += 1
        switch hidden {
        case .block: note(call, directory.isBlocked(call.caller, by: call.callee) ? .blocked : .numberBlocked)
        case .doNotDisturb: note(call, .doNotDisturb)
        case .callIDTaken: note(call, .callIDTaken)
        // The decision is in the timeline, and a refused offer is no call.
        case .app, .refusedOffer: break
        }
    }

    /// Returns the call that an offer without a peer belongs to.
    ///
    /// A callId `<me>-<peer>` names the callee. So a call with a user other than `<peer>` under this callId does not
    /// prevent the sender's own call to `<peer>`, unless the sending device is in that other call.
    func call(ofOffer id: CallID, from source: Source) -> Call? {
        guard let call = calls.find(id, for: source.user, on: source.device) else { return nil }
        guard let peer = Room.peer(inCallID: id, for: source.user), !call.key.pair.contains(peer),
            !CallResolution.isIn(call, source.user, source.device)
        else { return call }
        return calls[CallKey(id: id, pair: Pair(source.user, peer))]
    }
}
