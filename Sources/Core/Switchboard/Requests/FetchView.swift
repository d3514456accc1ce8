import CallCore
import CallPorts
import CallWire

/// A call's log as a fetch shows it.
enum FetchView {
    /// Returns the signals as an array, in the form that older apps read.
    static func array(_ call: Call, _ entries: [Int], by principal: Principal) -> [UInt8] {
        let signals = entries.compactMap { index -> FetchedSignal? in
            let entry = call.session.log[index]
            guard case .signal(let kind, let side, let device, let id, _) = entry.content,
                let object = RelayedObject(call.frame(at: index))
            else { return nil }
            return FetchedSignal(
                kind: kind,
                members: object.ownMembers[...],
                from: call.user(on: side),
                device: device.id,
                id: id,
                epoch: call.epoch,
                seq: entry.seq,
                at: entry.at
            )
        }
        return FetchedSignal.list(signals, asIntegers: principal.userIsInteger)
    }

    /// Returns the whole call as one object.
    static func object(
        _ call: Call,
        shown: [Int],
        new: [Int],
        since: UInt64,
        side: Side,
        device: DeviceIdentity,
        by principal: Principal,
        iceServers: [UInt8]
    ) -> [UInt8] {
        let session = call.session
        let visible = session.visibleState(side: side, device: device)
        var body = FetchBody(
            callID: session.key.id,
            epoch: session.epoch,
            room: call.room,
            state: visible.state,
            reason: visible.reason,
            uuid: call.uuid,
            iceServers: iceServers,
            ringUntil: session.ringUntil,
            next: max(since, new.last.map { session.log[$0].seq } ?? 0)
        )
        if case .ended(let ending, _) = session.phase { body.replacedBy = ending.replacedBy }
        body.offer = description(.offer, of: call, shown)
        body.answer = description(.answer, of: call, shown)
        body.candidates = shown.compactMap { index in
            guard case .signal(.ice, _, _, _, _) = session.log[index].content else { return nil }
            return RelayedObject(call.frame(at: index))?.value(of: .candidate)
        }
        body.signals = new.map { call.frame(at: $0).dropFirst(Frame.headroom) }
        return body.bytes(asIntegers: principal.userIsInteger)
    }

    /// Returns the newest description of a kind among the entries; `nil` = there is none.
    private static func description(_ kind: SignalKind, of call: Call, _ entries: [Int]) -> FetchBody.Description? {
        for index in entries.reversed() {
            guard case .signal(kind, let side, let device, _, _) = call.session.log[index].content,
                let object = RelayedObject(call.frame(at: index)), let sdp = object.value(of: .sdp)
            else { continue }
            return FetchBody.Description(
                kind: kind,
                sdp: sdp,
                from: call.user(on: side),
                device: device.id,
                hasVideo: kind == .offer ? object.value(of: .hasVideo) : nil,
                displayName: kind == .offer ? object.value(of: .displayName) : nil
            )
        }
        return nil
    }
}
