import CallClient
import CallCore
import CallWire

/// A client core with a clock, and short methods for its inputs.
struct ClientBench {
    var client: CallClient
    var now = Moment(milliseconds: 1_000_000_000)
    /// All outputs so far.
    var history: [CallClient.Output] = []
    var nextSeq: UInt64 = 1

    init(user: String = "10", isOpen: Bool = true, _ configure: (inout CallClient.Configuration) -> Void = { _ in }) {
        var configuration = CallClient.Configuration(
            user: Self.user(user),
            device: Self.device("phone"),
            signalIDPrefix: "p"
        )
        configure(&configuration)
        client = CallClient(configuration)
        if isOpen { take(.connectionOpened) }
    }

    static func user(_ text: String) -> UserID { made(UserID(text)) }
    static func device(_ text: String) -> DeviceID { made(DeviceID(text)) }
    static func call(_ text: String) -> CallID { made(CallID(text)) }
    static func made<T>(_ value: T?) -> T {
        guard let value else { preconditionFailure("a test uses an invalid id") }
        return value
    }

    @discardableResult
    mutating func take(_ input: CallClient.Input) -> [CallClient.Output] {
        let outputs = client.handle(input, at: now)
        history += outputs
        return outputs
    }

    /// Advances the clock alone: deadlines on the way are not handed in.
    mutating func advanceClock(by duration: Moment.Duration) { now = now + duration }

    /// Advances the clock, and hands in every deadline on the way.
    @discardableResult
    mutating func handleDeadlines(for duration: Moment.Duration) -> [CallClient.Output] {
        let end = now + duration
        var outputs: [CallClient.Output] = []
        var turns = 0
        while let deadline = client.deadline, deadline <= end, turns < 1_000 {
            now = max(now, deadline)
            outputs += take(.deadlineReached)
            turns += 1
        }
        now = end
        return outputs
    }

    mutating func signal(
        _ content: ServerMessage.Content,
        call: String = "c1",
        epoch: UInt32 = 1,
        seq: UInt64? = nil,
        from: String = "11",
        device: String = "peer",
        id: String? = nil
    ) -> [CallClient.Output] {
        let envelope = ServerMessage.Envelope(
            callID: Self.call(call),
            epoch: epoch,
            seq: seq ?? nextSeq,
            at: now,
            room: "p2p:11-10",
            from: Self.user(from),
            fromDevice: Self.device(device),
            id: id.flatMap { SignalID($0) }
        )
        if seq == nil { nextSeq += 1 }
        return take(.received(.signal(envelope, content)))
    }

    mutating func event(
        _ event: ServerMessage.StateEvent,
        call: String = "c1",
        epoch: UInt32 = 1
    ) -> [CallClient.Output] {
        let envelope = ServerMessage.Envelope(
            callID: Self.call(call),
            epoch: epoch,
            seq: nextSeq,
            at: now,
            room: "p2p:11-10"
        )
        nextSeq += 1
        return take(.received(.call(envelope, event)))
    }

    mutating func offered(
        call: String = "c1",
        epoch: UInt32 = 1,
        sdp: String = "v=0 offer",
        from: String = "11",
        rings: Moment.Duration = .seconds(45),
        isWaiting: Bool = false
    ) -> [CallClient.Output] {
        let offer = IncomingOffer(
            sdp: sdp,
            hasVideo: false,
            displayName: "Eleven",
            callUUID: CallUUID(call: Self.call(call), epoch: epoch),
            ringUntil: now + rings,
            isWaiting: isWaiting
        )
        return signal(.offer(offer), call: call, epoch: epoch, from: from)
    }

    static func uuid(_ call: String = "c1", epoch: UInt32 = 1) -> CallUUID {
        CallUUID(call: Self.call(call), epoch: epoch)
    }

    static let ownUUID = made(CallUUID("AAAAAAAA-0000-4000-8000-000000000001"))

    /// Starts a call and hands in the description for its offer.
    @discardableResult
    mutating func start(
        _ call: String = "c1",
        to: String = "11",
        uuid: CallUUID = ClientBench.ownUUID
    ) -> [CallClient.Output] {
        let wish = CallClient.StartCall(uuid: uuid, callID: Self.call(call), to: Self.user(to), hasVideo: false)
        return take(.startCall(wish)) + take(.localDescription(uuid, round: 1, .offer, sdp: "v=0\r\nown offer"))
    }

    /// Acknowledges each signal that was sent over the connection so far, even if it was acknowledged before.
    @discardableResult
    mutating func acknowledgeAll(epoch: UInt32 = 1) -> [CallClient.Output] {
        var outputs: [CallClient.Output] = []
        var known: Set<SignalID> = []
        for signal in history.compactMap(\.sent) where known.insert(signal.id).inserted {
            outputs += take(.received(.ack(signal.id, Ack(callID: signal.callID, epoch: epoch, seq: 9))))
        }
        return outputs
    }

    /// Returns a device with an incoming call in which media flows.
    static func talking(_ configure: (inout CallClient.Configuration) -> Void = { _ in }) -> ClientBench {
        var bench = ClientBench(configure)
        _ = bench.offered()
        bench.take(.answer(uuid()))
        bench.take(.localDescription(uuid(), round: 1, .answer, sdp: "v=0 own answer"))
        bench.take(.mediaConnected(uuid()))
        bench.acknowledgeAll()
        return bench
    }

    /// Returns a device with an outgoing call in which media flows.
    static func talkingAsCaller(_ configure: (inout CallClient.Configuration) -> Void = { _ in }) -> ClientBench {
        var bench = ClientBench(configure)
        bench.start()
        _ = bench.event(.init(.ringing))
        _ = bench.signal(.answer(sdp: "v=0 answer", round: nil))
        bench.take(.mediaConnected(ownUUID))
        bench.acknowledgeAll()
        return bench
    }

    static func push(
        call: String = "c1",
        epoch: Int64? = 1,
        at now: Moment,
        rings: Moment.Duration = .seconds(45),
        _ more: [String: PushValue] = [:]
    ) -> [String: PushValue] {
        var push: [String: PushValue] = [
            "aps": .other, "type": .string("call.incoming"), "callId": .string(call), "fromUserId": .string("11"),
            "fromDisplayName": .string("Eleven"), "room": .string("p2p:11-10"), "hasVideo": .bool(false),
            "handle": .string("11"), "sentAt": .int(now.milliseconds), "act": .string("capability"),
            "ringUntil": .int((now + rings).milliseconds),
            "callUUID": .string(uuid(call, epoch: UInt32(epoch ?? 1)).text),
        ]
        if let epoch { push["epoch"] = .int(epoch) }
        for (name, value) in more { push[name] = value }
        return push
    }

    var phase: CallClient.Phase.Name? { client.calls.last?.phase.name }
}

extension CallClient.Output {
    var sent: OutgoingSignal? { if case .send(let signal) = self { signal } else { nil } }
    var posted: OutgoingSignal? { if case .post(let signal, _) = self { signal } else { nil } }
    var reported: CallUUID? { if case .reportIncoming(let uuid, _) = self { uuid } else { nil } }
    var fetched: FetchNumber? { if case .fetch(let number, _, _, _, _) = self { number } else { nil } }
    var end: ReportedEnd? { if case .reportEnded(_, let end) = self { end } else { nil } }
}

extension [CallClient.Output] {
    var sent: [SignalKind] { compactMap { $0.sent?.kind } }
    var posted: [SignalKind] { compactMap { $0.posted?.kind } }
    var reported: [CallUUID] { compactMap(\.reported) }
    var ends: [ReportedEnd] { compactMap(\.end) }
}
