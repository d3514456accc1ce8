import CallCore
import CallWire

/// The ends that were taken under a name: each means the call that it ended, however late it comes again.
///
/// An end that is sent again, because its ack was lost, may find its callId in use again.
struct TakenEnds {
    /// An end.
    struct End: Equatable {
        let user: UserID
        let phone: Phone
        let id: SignalID
        /// The epoch that it was taken in.
        let epoch: UInt32
        /// What its ack said: 0 = it needed no entry.
        let seq: UInt64
        /// Why the call was over for its device.
        let reason: EndReason?
        let at: Moment
    }

    /// How many are kept: a call has one, and one of each device that had lost it.
    private static let most = 16

    /// They, oldest first.
    private(set) var all: [End] = []

    init(_ ends: [End] = []) { all = ends.suffix(Self.most) }

    /// The ends of the calls before, as far as those could still be fetched.
    init(before: TakenEnds?, since moment: Moment) { self.init(before?.all.filter { $0.at >= moment } ?? []) }

    /// An end that was taken before.
    func of(_ id: SignalID, from phone: Phone, _ user: UserID) -> End? {
        all.first { $0.id == id && $0.user == user && $0.phone.isSame(as: phone) }
    }

    /// Adds an end; whether it was not there.
    mutating func add(_ end: End) -> Bool {
        guard of(end.id, from: end.phone, end.user) == nil else { return false }
        all.append(end)
        if all.count > Self.most { all.removeFirst() }
        return true
    }
}

extension Switchboard {
    /// The receipt of an end that was taken before, in an earlier call of its name or in this one.
    ///
    /// The later call need not be one that its sender is shown.
    func receipt(ofEnd message: SignalMessage, from source: Source, _ peer: UserID?) -> Receipt? {
        guard let id = message.id, let callID = message.callID else { return nil }
        for call in calls.everything(named: callID, of: source.user) where peer.map(call.key.pair.holds) ?? true {
            guard !call.ends.all.isEmpty else { continue }
            let side: Side = call.session.caller == source.user ? .caller : .callee
            let standIn = source.phone.isUnnamed ? call.session.standIn(for: source.phone, on: side) : source.phone
            let end =
                call.ends.of(id, from: source.phone, source.user) ?? call.ends.of(id, from: standIn, source.user)
            if let end { return Receipt(call: call, seq: end.seq, end: end) }
        }
        return nil
    }

    /// Remembers an end that was acknowledged.
    func remember(
        _ message: SignalMessage,
        _ seq: UInt64,
        by phone: Phone,
        on side: Side,
        in call: Call,
        at now: Moment
    ) {
        guard let id = message.id else { return }
        let isNew = call.ends.add(
            TakenEnds.End(
                user: call.user(on: side),
                phone: phone,
                id: id,
                epoch: call.session.epoch,
                seq: seq,
                reason: call.session.standing(side: side, phone: phone).reason,
                at: now
            )
        )
        // The end of a device that had lost the call changes nothing else, and must be known when the call is taken up from rest.
        if isNew { markDirty(call) }
    }
}
