import CallCore

/// Operations on `CallSession` alone.
let sessionOperations: [Operation] = [
    Operation(name: "session-offer", times: 50) {
        let caller = try device(.caller)
        let names = try (1...50).map { try key($0) }
        let user = try Inputs.user(.caller, 1)
        let offer = Offer(digest: 7, hasVideo: false, ringTimeout: Inputs.ringTimeout, namesCallee: true)
        let signal = Signal(.offer(offer), id: try Inputs.signal("o"), byteCount: 1_200)
        return {
            var done = 0
            for key in names {
                var session = CallSession(
                    number: CallNumber(rawValue: 1),
                    key: key,
                    epoch: 1,
                    caller: user,
                    device: caller,
                    offer: offer,
                    isHidden: false,
                    grace: .seconds(30),
                    at: Inputs.start
                )
                let outputs = session.handle(.signal(signal, from: .caller, caller), at: Inputs.start)
                if outputs.contains(.acknowledge(seq: 1, isNew: true)) { done += 1 }
            }
            return done
        }
    },
    Operation(name: "session-answer", times: 50) {
        let callee = try device(.callee)
        let calls = try (1...50).map { try KeptCall($0) }
        for call in calls { call.take(.notified(callee)) }
        let signal = Signal(.answer(digest: 8), id: try Inputs.signal("a"), byteCount: 1_200)
        return {
            for call in calls { call.take(.signal(signal, from: .callee, callee)) }
            return calls.count { $0.session.state == .answered }
        }
    },
    Operation(name: "session-candidate", times: 200) {
        let call = try KeptCall(1)
        let devices = [try device(.caller), try device(.callee)]
        call.take(.signal(Signal(.answer(digest: 8), id: try Inputs.signal("a")), from: .callee, devices[1]))
        for (device, side) in zip(devices, Side.allCases) { call.take(.signal(Signal(.connected), from: side, device)) }
        guard call.session.state == .active else { throw Broken("the call") }
        let ids = try (1...200).map { try Inputs.signal(Inputs.signalName($0)) }
        let before = call.session.log.count
        return {
            for (index, id) in ids.enumerated() {
                let side: Side = index % 2 == 0 ? .caller : .callee
                let signal = Signal(.ice, id: id, byteCount: 132)
                call.take(.signal(signal, from: side, devices[index % 2]))
            }
            return call.session.log.count - before
        }
    },
]

private func key(_ number: Int) throws -> CallKey {
    CallKey(id: try Inputs.call(number), pair: Pair(try Inputs.user(.caller, 1), try Inputs.user(.callee, 1)))
}

private func device(_ side: Side) throws -> DeviceIdentity {
    DeviceIdentity(id: try Inputs.device(side, 1), fingerprint: Inputs.fingerprint(side, 1))
}

/// A ringing call, stored as in the switchboard: in an object, with one array for all outputs.
private final class KeptCall {
    var session: CallSession
    private var outputs: [CallSession.Output] = []

    init(_ number: Int) throws {
        let offer = Offer(digest: 7, hasVideo: false, ringTimeout: Inputs.ringTimeout, namesCallee: true)
        session = CallSession(
            number: CallNumber(rawValue: 1),
            key: try key(number),
            epoch: 1,
            caller: try Inputs.user(.caller, 1),
            device: try device(.caller),
            offer: offer,
            isHidden: false,
            grace: .seconds(30),
            at: Inputs.start
        )
        take(
            .signal(
                Signal(.offer(offer), id: try Inputs.signal("o"), byteCount: 1_200),
                from: .caller,
                try device(.caller)
            )
        )
    }

    func take(_ input: CallSession.Input) {
        session.handle(input, at: Inputs.start, into: &outputs)
        outputs.removeAll(keepingCapacity: true)
    }
}
