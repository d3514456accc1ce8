import CallCore
import CallWire

/// The ends that were taken under one name: one that comes again means the call that it ended, however late it comes.
///
/// It is sent again because its ack was lost, and may find its callId in use again.
struct TakenEnds {
    /// An end.
    struct End: Equatable {
        let user: UserID
        let phone: Phone
        let id: SignalID
        /// The epoch that it was taken in.
        let epoch: UInt32
        /// The `seq` of its ack; 0 = it needed no entry.
        let seq: UInt64
        /// Why the call was over for its device.
        let reason: EndReason?
        let at: Moment
    }

    /// How many are kept. A call has one end, and one more of each device that had lost it.
    private static let most = 16

    /// The ends, oldest first.
    private(set) var all: [End] = []

    init(_ ends: [End] = []) { all = ends.suffix(Self.most) }

    /// The ends of the calls before under the name, without those that were taken before `moment`.
    init(before: TakenEnds?, since moment: Moment) { self.init(before?.all.filter { $0.at >= moment } ?? []) }

    /// The end that was taken from a device under this `id`.
    func of(_ id: SignalID, from phone: Phone, _ user: UserID) -> End? {
        all.first { $0.id == id && $0.user == user && $0.phone.isSame(as: phone) }
    }

    /// Adds an end; returns whether it is new.
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
    /// Calls that are hidden from its sender are looked at, too.
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
        // The end of a device that had lost the call changes nothing else. It must be known when the call is taken up
        // from rest.
        if isNew { markDirty(call) }
    }
}
