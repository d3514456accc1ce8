import CallCore
import CallPorts
import CallWire

/// The accepted signals of a callId that must not pass for new ones when they are resent.
///
/// A signal belongs to the call that accepted it, however late it is resent. A signal is resent when its ack was lost,
/// and by then its callId may belong to a later call. If the resent signal were taken as new, an end would end the
/// later call, an answer would answer the later call, and an offer would ring again.
///
/// The ends of all calls of the callId are kept here. Of the offers and answers, only those of earlier calls are kept:
/// those of the current call are in its log.
struct AcceptedSignals {
    /// The ends, oldest first.
    private(set) var ends: [AcceptedSignal] = []
    /// The offers and answers of earlier calls, oldest first.
    private(set) var descriptions: [AcceptedSignal] = []

    init() {}

    /// The signals of `call` and of the calls before it that were accepted at `moment` or later.
    init(before call: Call?, since moment: Moment) {
        guard let call else { return }
        ends = call.acceptedSignals.ends.filter { $0.at >= moment }
        descriptions = (call.acceptedSignals.descriptions + call.descriptions).filter { $0.at >= moment }.suffix(
            SwitchboardLimits.acceptedSignals
        )
    }

    var isEmpty: Bool { ends.isEmpty && descriptions.isEmpty }

    /// Returns the end with this `id` that was accepted before; `nil` = there is none.
    func end(_ id: SignalID, from device: DeviceIdentity, of user: UserID) -> AcceptedSignal? {
        ends.first { $0.id == id && $0.user == user && Self.isSame($0.device, device) }
    }

    /// Returns the offer or answer with this `id` that an earlier call accepted; `nil` = there is none.
    func description(_ id: SignalID, digest: UInt64, from device: DeviceIdentity, of user: UserID) -> AcceptedSignal? {
        descriptions.first {
            $0.id == id && $0.kind == .description(digest: digest) && $0.user == user && Self.isSame($0.device, device)
        }
    }

    /// Whether both are the same device.
    ///
    /// A device without an id is identified by its token, and may have another token when it resends a signal. So any
    /// two devices without an id count as the same device.
    private static func isSame(_ one: DeviceIdentity, _ other: DeviceIdentity) -> Bool {
        one.isSame(as: other) || one.isUnnamed && other.isUnnamed
    }

    /// Restores the stored signals.
    mutating func restore(ends: [AcceptedSignal], descriptions: [AcceptedSignal]) {
        self.ends = ends.suffix(SwitchboardLimits.acceptedSignals)
        self.descriptions = descriptions.suffix(SwitchboardLimits.acceptedSignals)
    }

    /// Adds an end; returns whether it was new.
    mutating func add(_ end: AcceptedSignal) -> Bool {
        guard self.end(end.id, from: end.device, of: end.user) == nil else { return false }
        ends.append(end)
        if ends.count > SwitchboardLimits.acceptedSignals { ends.removeFirst() }
        return true
    }
}

extension Call {
    /// The offers and answers in the call's log that have an `id`.
    fileprivate var descriptions: [AcceptedSignal] {
        session.log.compactMap { entry in
            guard case .signal(let kind, let side, let device, let id?, let digest) = entry.content,
                kind == .offer || kind == .answer
            else { return nil }
            return AcceptedSignal(
                kind: .description(digest: digest),
                user: user(on: side),
                device: device,
                id: id,
                epoch: session.epoch,
                seq: entry.seq,
                at: entry.at
            )
        }
    }
}

extension Switchboard {
    /// Returns the receipt of a resent signal; `nil` = the signal is not among those that are kept.
    ///
    /// The ends of all calls of the callId are kept, and the offers and answers of its earlier calls. Calls that are
    /// hidden from the sender are searched too.
    func receipt(ofAccepted message: SignalMessage, from source: Source, _ peer: UserID?) -> Receipt? {
        guard let id = message.id, let callID = message.callID else { return nil }
        for call in calls.everything(named: callID, of: source.user) where peer.map(call.key.pair.contains) ?? true {
            guard !call.acceptedSignals.isEmpty else { continue }
            let side: Side = call.caller == source.user ? .caller : .callee
            let actingDevice =
                source.device.isUnnamed ? call.session.actingDevice(for: source.device, on: side) : source.device
            for device in source.device == actingDevice ? [actingDevice] : [source.device, actingDevice] {
                let accepted: AcceptedSignal? =
                    switch message.content {
                    case .end: call.acceptedSignals.end(id, from: device, of: source.user)
                    case .offer(let offer):
                        call.acceptedSignals.description(id, digest: offer.digest, from: device, of: source.user)
                    case .answer(let digest):
                        call.acceptedSignals.description(id, digest: digest, from: device, of: source.user)
                    case .ringing, .silenced, .ice, .connected, .update, .dtmf, .info, .confirm: nil
                    }
                guard let accepted else { continue }
                return Receipt(
                    call: call,
                    seq: accepted.seq,
                    earlier: .init(epoch: accepted.epoch, reason: accepted.reason)
                )
            }
        }
        return nil
    }

    /// Remembers an end that was acknowledged.
    mutating func remember(
        _ message: SignalMessage,
        _ seq: UInt64,
        by device: DeviceIdentity,
        on side: Side,
        in call: Call
    ) {
        guard let id = message.id else { return }
        let isNew = call.acceptedSignals.add(
            AcceptedSignal(
                kind: .end(call.session.visibleState(side: side, device: device).reason),
                user: call.user(on: side),
                device: device,
                id: id,
                epoch: call.epoch,
                seq: seq,
                at: turn.now
            )
        )
        // The end of a device that had lost the call changes nothing else, but must still be known when the call is
        // loaded from rest.
        if isNew { commits.markDirty(call) }
    }
}
