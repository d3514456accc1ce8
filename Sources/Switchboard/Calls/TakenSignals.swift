import CallCore
import CallPorts
import CallWire

/// The accepted signals of a callId that must not pass for new ones when they are resent.
///
/// Each belongs to the call that accepted it, however late its copy arrives. A signal is resent when its ack was lost,
/// and by then its callId may belong to a later call. If the resent signal were taken as new, an end would end the
/// later call, an answer would answer it, and an offer would ring again. All ends are kept, and the offers and answers
/// of earlier calls; those of the current call are in its log.
struct TakenSignals {
    /// The ends, oldest first.
    private(set) var ends: [TakenSignal] = []
    /// The offers and answers of earlier calls, oldest first.
    private(set) var descriptions: [TakenSignal] = []

    init() {}

    /// The signals of `call` and of the calls before it that were taken at `moment` or later.
    init(before call: Call?, since moment: Moment) {
        guard let call else { return }
        ends = call.taken.ends.filter { $0.at >= moment }
        descriptions = (call.taken.descriptions + call.descriptions).filter { $0.at >= moment }.suffix(
            SwitchboardLimits.takenSignals
        )
    }

    var isEmpty: Bool { ends.isEmpty && descriptions.isEmpty }

    /// Returns an end that was taken before.
    func end(_ id: SignalID, from phone: Phone, of user: UserID) -> TakenSignal? {
        ends.first { $0.id == id && $0.user == user && Self.isSame($0.phone, phone) }
    }

    /// Returns an offer or answer that an earlier call took.
    func description(_ id: SignalID, digest: UInt64, from phone: Phone, of user: UserID) -> TakenSignal? {
        descriptions.first {
            $0.id == id && $0.kind == .description(digest: digest) && $0.user == user && Self.isSame($0.phone, phone)
        }
    }

    /// Whether both are the same device.
    ///
    /// A device without an id is identified by its token, and may have another token when it resends a signal.
    private static func isSame(_ one: Phone, _ other: Phone) -> Bool {
        one.isSame(as: other) || one.isUnnamed && other.isUnnamed
    }

    /// Restores the stored signals.
    mutating func restore(ends: [TakenSignal], descriptions: [TakenSignal]) {
        self.ends = ends.suffix(SwitchboardLimits.takenSignals)
        self.descriptions = descriptions.suffix(SwitchboardLimits.takenSignals)
    }

    /// Adds an end; returns whether it was new.
    mutating func add(_ end: TakenSignal) -> Bool {
        guard self.end(end.id, from: end.phone, of: end.user) == nil else { return false }
        ends.append(end)
        if ends.count > SwitchboardLimits.takenSignals { ends.removeFirst() }
        return true
    }
}

extension Call {
    /// The offers and answers in the call's log that have an `id`.
    fileprivate var descriptions: [TakenSignal] {
        session.log.compactMap { entry in
            guard case .signal(let kind, let side, let phone, let id?, let digest) = entry.content,
                kind == .offer || kind == .answer
            else { return nil }
            return TakenSignal(
                kind: .description(digest: digest),
                user: user(on: side),
                phone: phone,
                id: id,
                epoch: session.epoch,
                seq: entry.seq,
                at: entry.at
            )
        }
    }
}

extension Switchboard {
    /// Returns the receipt of a resent signal.
    ///
    /// The signal is an end that any call of its callId has taken, or an offer or answer that an earlier call of its
    /// callId has taken.
    ///
    /// Calls that are hidden from the sender are searched too.
    func receipt(ofTaken message: SignalMessage, from source: Source, _ peer: UserID?) -> Receipt? {
        guard let id = message.id, let callID = message.callID else { return nil }
        for call in calls.everything(named: callID, of: source.user) where peer.map(call.key.pair.holds) ?? true {
            guard !call.taken.isEmpty else { continue }
            let side: Side = call.session.caller == source.user ? .caller : .callee
            let standIn = source.phone.isUnnamed ? call.session.standIn(for: source.phone, on: side) : source.phone
            for phone in source.phone == standIn ? [standIn] : [source.phone, standIn] {
                let taken: TakenSignal? =
                    switch message.content {
                    case .end: call.taken.end(id, from: phone, of: source.user)
                    case .offer(let offer):
                        call.taken.description(id, digest: offer.digest, from: phone, of: source.user)
                    case .answer(let digest): call.taken.description(id, digest: digest, from: phone, of: source.user)
                    case .ringing, .ice, .connected, .update, .dtmf, .info: nil
                    }
                if let taken { return Receipt(call: call, seq: taken.seq, taken: taken) }
            }
        }
        return nil
    }

    /// Remembers an end that was acknowledged.
    mutating func remember(
        _ message: SignalMessage,
        _ seq: UInt64,
        by phone: Phone,
        on side: Side,
        in call: Call,
        at now: Moment
    ) {
        guard let id = message.id else { return }
        let isNew = call.taken.add(
            TakenSignal(
                kind: .end(call.session.standing(side: side, phone: phone).reason),
                user: call.user(on: side),
                phone: phone,
                id: id,
                epoch: call.session.epoch,
                seq: seq,
                at: now
            )
        )
        // The end of a device that had lost the call changes nothing else, but must still be known when the call is
        // loaded from rest.
        if isNew { commits.markDirty(call) }
    }
}
