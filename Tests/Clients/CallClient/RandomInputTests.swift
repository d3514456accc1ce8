import CallClient
import CallCore
import SeededRandom
import Testing

@Suite("The client core with random inputs")
struct RandomInputTests {
    @Test("The core never traps, and its invariants hold after every input", arguments: 0..<40)
    func random(_ block: UInt64) {
        for seed in block * 10..<(block + 1) * 10 {
            var world = RandomWorld(seed: seed)
            for step in 0..<200 {
                if let fault = world.step() {
                    Issue.record("seed \(seed), step \(step): \(fault)")
                    return
                }
            }
        }
    }
}

/// A server, a media engine and a user that act at random, and the invariants that must hold nevertheless.
private struct RandomWorld {
    var generator: SeededGenerator
    var client: CallClient
    var now = Moment(milliseconds: 5_000_000)

    var reported: Set<CallUUID> = []
    var shown: Set<CallUUID> = []
    var described: Set<CallUUID> = []
    var sounding: Set<CallUUID> = []
    var posts: [SignalID] = []
    var fetches: [FetchNumber] = []
    var sent: [SignalID] = []
    var rounds: [CallUUID: UInt32] = [:]
    var isOpen = false
    var sentDescriptions: Set<String> = []

    private let names = ["c1", "c2", "m", "11-10"]
    private let peers = ["11", "12"]

    init(seed: UInt64) {
        generator = SeededGenerator(mixing: seed)
        var configuration = CallClient.Configuration(
            user: ClientBench.user("10"),
            device: ClientBench.device("phone"),
            signalIDPrefix: "s\(seed)"
        )
        configuration.maximumCallGroups = Int.random(in: 1...3, using: &generator)
        client = CallClient(configuration)
    }

    /// Hands in one input; returns the fault that it revealed, or `nil` if all invariants hold.
    mutating func step() -> String? {
        if generator.one(in: 3) { now = now + .milliseconds(Int64.random(in: 0..<20_000, using: &generator)) }
        let input = generator.one(in: 3) ? due() : any()
        if input == .connectionOpened { isOpen = true }
        if input == .connectionClosed { isOpen = false }
        if input == .providerReset { shown = [] }
        if case .end(let uuid, _) = input { shown.remove(uuid) }
        if case .startCall(let wish) = input, !client.calls.contains(where: { $0.uuid == wish.uuid }) {
            shown.insert(wish.uuid)
        }
        let outputs = client.handle(input, at: now)
        if let fault = check(outputs, after: input) { return "\(input): \(fault)" }
        return checkState(after: input).map { "\($0) after \(input): \(outputs)" }
    }

    private mutating func check(_ outputs: [CallClient.Output], after input: CallClient.Input) -> String? {
        var reports = 0
        for output in outputs {
            if let uuid = mediaCall(of: output), client.calls.last(where: { $0.uuid == uuid })?.isScheduled == true {
                return "media for a scheduled call"
            }
            switch output {
            case .reportIncoming(let uuid, _):
                reports += 1
                guard reported.insert(uuid).inserted else { return "reported twice" }
                shown.insert(uuid)
            case .reportRepeated(let uuid, _):
                reports += 1
                guard shown.contains(uuid) else { return "repeated what is not shown" }
            case .reportEnded(let uuid, _):
                guard shown.remove(uuid) != nil else { return "ended what is not shown" }
            case .reportConnecting(let uuid), .reportConnected(let uuid), .update(let uuid, _):
                guard shown.contains(uuid) else { return "told of what is not shown" }
            case .refused(let uuid, _):
                if case .startCall(let wish) = input, wish.uuid == uuid,
                    !client.calls.contains(where: { $0.uuid == uuid })
                {
                    shown.remove(uuid)
                }
            case .setRemoteDescription(let uuid, _, _): described.insert(uuid)
            case .addRemoteCandidate(let uuid, _):
                guard described.contains(uuid) else { return "a candidate before its description (I5)" }
            case .startAudio(let uuid):
                guard client.isAudioSessionActive, client.calls.contains(where: { $0.uuid == uuid && $0.isAnswered })
                else { return "sound without session or answer" }
                guard sounding.insert(uuid).inserted else { return "sound started twice" }
            case .stopAudio(let uuid): guard sounding.remove(uuid) != nil else { return "sound stopped twice" }
            case .closeMedia(let uuid): if sounding.contains(uuid) { return "closed while sounding" }
            case .makeOffer(let uuid, let round, _, _), .makeAnswer(let uuid, let round):
                guard round > rounds[uuid] ?? 0 else { return "a round twice" }
                rounds[uuid] = round
            case .send(let signal):
                guard isOpen else { return "sent without a connection" }
                if let fault = check(signal) { return fault }
                sent.append(signal.id)
            case .post(let signal, _):
                guard !posts.contains(signal.id) else { return "posted twice at a time" }
                if let fault = check(signal) { return fault }
                posts.append(signal.id)
            case .fetch(let number, _, _, _, _): fetches.append(number)
            case .peerRinging, .delayed, .peerMedia, .receivedDTMF, .receivedInfo, .rollback, .holdMedia, .muteMedia,
                .connect, .renewToken, .tokenOfAnotherUser:
                break
            }
        }
        if case .pushed = input, reports != 1 { return "\(reports) reports for a push" }
        return nil
    }

    /// Returns the call for which an output makes the engine do something.
    private func mediaCall(of output: CallClient.Output) -> CallUUID? {
        switch output {
        case .makeOffer(let uuid, _, _, _), .makeAnswer(let uuid, _), .setRemoteDescription(let uuid, _, _),
            .addRemoteCandidate(let uuid, _), .rollback(let uuid), .startAudio(let uuid), .stopAudio(let uuid),
            .holdMedia(let uuid, _), .muteMedia(let uuid, _, _), .closeMedia(let uuid):
            uuid
        default: nil
        }
    }

    /// Returns a fault if a candidate of ours goes out before its description, or if the epoch is wrong.
    ///
    /// An offer that begins a call must not name an epoch; every other signal must.
    private mutating func check(_ signal: OutgoingSignal) -> String? {
        func name(_ round: UInt32) -> String { "\(signal.callID.text)/\(signal.epoch ?? 0)/\(round)" }
        switch signal.content {
        case .offer(_, _, _, let beginning?):
            _ = beginning
            return signal.epoch == nil ? nil : "a beginning with an epoch"
        case .offer(_, let round, _, nil), .answer(_, let round): sentDescriptions.insert(name(round))
        case .ice(_, let round):
            // A caller's first description has no epoch yet, so it is not in this set.
            if round > 1, !sentDescriptions.contains(name(round)) {
                return "a candidate of ours before its description"
            }
        case .ringing, .silenced, .scheduledAnswer, .connected, .update, .dtmf, .info, .confirm, .end: break
        }
        return signal.epoch == nil ? "no epoch" : nil
    }

    private func checkState(after input: CallClient.Input) -> String? {
        let live = client.calls.filter(\.isLive)
        let visible = live.filter { $0.phase.name != .hiddenByOutgoingCall }
        if visible.count > client.configuration.capacity { return "more calls than there may be" }
        if Set(live.map(\.uuid)).count != live.count { return "one UUID for two calls" }
        if client.calls.count - live.count > ClientLimits.endedCalls { return "too many ended calls are kept" }
        if client.unacknowledgedCount > 2_000 { return "the outbox grows" }
        for call in live where (call.isAudioOn && !call.isScheduled) != sounding.contains(call.uuid) {
            return "sound is not as it is told"
        }
        if input == .deadlineReached, let deadline = client.deadline, deadline <= now { return "time stands still" }
        for call in visible where !shown.contains(call.uuid) { return "a call that the system does not show" }
        return nil
    }

    /// Returns an input that the core waits for, such as an ack, the response to a request, or a description.
    private mutating func due() -> CallClient.Input {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0 where !posts.isEmpty:
            return .posted(posts.remove(at: Int.random(in: 0..<posts.count, using: &generator)), outcome())
        case 1 where !fetches.isEmpty:
            let number = fetches.remove(at: Int.random(in: 0..<fetches.count, using: &generator))
            return .fetched(number, generator.one(in: 3) ? .failure(failure()) : .success(log()))
        case 2 where !sent.isEmpty:
            let id = generator.pick(Array(sent.suffix(20)))
            if generator.one(in: 4) { return .received(.error(id, code: code())) }
            if generator.one(in: 10) {
                return .received(.draining(.milliseconds(Int64.random(in: 0..<90_000, using: &generator))))
            }
            return .received(.ack(id, ack()))
        case 3:
            let uuid = uuid()
            return .localDescription(
                uuid,
                round: rounds[uuid] ?? 1,
                generator.one(in: 2) ? .offer : .answer,
                sdp: "v=0 l"
            )
        case 4: return .answer(uuid())
        default: return .deadlineReached
        }
    }

    private mutating func any() -> CallClient.Input {
        switch Int.random(in: 0..<20, using: &generator) {
        case 0:
            return .startCall(
                CallClient.StartCall(
                    uuid: made(),
                    callID: ClientBench.call(generator.pick(names)),
                    to: ClientBench.user(generator.pick(peers + ["10"])),
                    hasVideo: generator.one(in: 2)
                )
            )
        case 1:
            if generator.one(in: 8) { return .answerTimedOut(uuid()) }
            if generator.one(in: 4) { return .reportFailed(uuid(), generator.pick(Silence.allCases)) }
            if generator.one(in: 4) { return .reportSucceeded(uuid()) }
            return .end(uuid(), generator.one(in: 2) ? nil : generator.pick(EndReason.allCases))
        case 2: return .setHeld(uuid(), generator.one(in: 2))
        case 3: return .setMuted(uuid(), audio: generator.one(in: 2), video: generator.one(in: 2) ? nil : true)
        case 4:
            if generator.one(in: 3) { return .confirm(uuid()) }
            return generator.one(in: 2) ? .playDTMF(uuid(), "1") : .sendInfo(uuid(), "{}")
        case 5: return .renegotiate(uuid(), hasVideo: true, restartsICE: generator.one(in: 2))
        case 6: return generator.one(in: 3) ? .audioDeactivated : .audioActivated
        case 7: return generator.one(in: 8) ? .providerReset : .mediaConnected(uuid())
        case 8:
            if generator.one(in: 4) {
                return .negotiationFailed(uuid(), round: UInt32.random(in: 0...4, using: &generator))
            }
            return generator.one(in: 4) ? .mediaFailed(uuid()) : .mediaConnected(uuid())
        case 9: return .localCandidate(uuid(), round: UInt32.random(in: 0...4, using: &generator), "{}")
        case 10: return generator.one(in: 3) ? .connectionClosed : .connectionOpened
        case 11: return generator.one(in: 2) ? .tokenExpired : .tokenRenewed
        case 12, 13: return .pushed(generator.push(at: now))
        default: return .received(object())
        }
    }

    private mutating func made() -> CallUUID {
        let digits = String(UInt32.random(in: 0...UInt32.max, using: &generator), radix: 16)
        let padded = String(repeating: "0", count: 8 - digits.count) + digits
        return ClientBench.made(CallUUID("\(padded)-0000-4000-8000-000000000000"))
    }

    private mutating func uuid() -> CallUUID {
        let known = client.calls.suffix(6).map(\.uuid)
        return known.isEmpty || generator.one(in: 10) ? made() : generator.pick(known)
    }

    private mutating func code() -> String {
        generator.pick([
            "call_ended", "already_answered", "call_exists", "rate_limited", "not_found", "forbidden", "token_expired",
            "store_unavailable", "invalid_sdp", "log_full", "whatever",
        ])
    }

    private mutating func failure() -> RequestFailure {
        generator.one(in: 2) ? .unreachable : .refused(code: code())
    }

    private mutating func ack() -> Ack {
        Ack(
            callID: ClientBench.call(generator.pick(names)),
            epoch: generator.one(in: 8) ? nil : UInt32.random(in: 1...4, using: &generator),
            seq: 1,
            state: generator.one(in: 2) ? nil : generator.pick(CallState.allCases),
            reason: generator.one(in: 2) ? nil : generator.pick(EndReason.allCases),
            replacedBy: generator.one(in: 2) ? nil : ClientBench.call(generator.pick(names))
        )
    }

    private mutating func outcome() -> Result<Ack, RequestFailure> {
        generator.one(in: 3) ? .failure(failure()) : .success(ack())
    }

    private mutating func log() -> FetchedCall {
        FetchedCall(
            callID: ClientBench.call(generator.pick(names)),
            epoch: UInt32.random(in: 1...4, using: &generator),
            state: generator.pick(CallState.allCases),
            reason: generator.one(in: 2) ? nil : generator.pick(EndReason.allCases),
            replacedBy: generator.one(in: 3) ? ClientBench.call(generator.pick(names)) : nil,
            signals: (0..<Int.random(in: 0..<5, using: &generator)).map { _ in object() },
            ringUntil: generator.one(in: 2) ? nil : now + .seconds(20)
        )
    }

    private mutating func object() -> ServerMessage {
        let known = generator.one(in: 3) ? nil : client.calls.randomElement(using: &generator)
        let envelope = ServerMessage.Envelope(
            callID: known?.callID ?? ClientBench.call(generator.pick(names)),
            epoch: known?.epoch ?? UInt32.random(in: 1...4, using: &generator),
            seq: (known?.seq ?? 0) + UInt64.random(in: 0...3, using: &generator),
            at: generator.one(in: 4) ? nil : now + .milliseconds(Int64.random(in: -90_000...90_000, using: &generator)),
            room: generator.one(in: 6) ? nil : "p2p:\(known?.peer.text ?? "11")-10",
            from: generator.one(in: 10) ? nil : known?.peer ?? ClientBench.user(generator.pick(peers)),
            fromDevice: ClientBench.device(generator.pick(["peer", "other"])),
            id: generator.one(in: 2) ? nil : SignalID("id\(Int.random(in: 0..<50, using: &generator))")
        )
        guard !generator.one(in: 4) else {
            return .call(
                envelope,
                ServerMessage.StateEvent(
                    generator.pick(CallState.allCases),
                    reason: generator.one(in: 2) ? nil : generator.pick(EndReason.allCases),
                    answeredBy: generator.one(in: 2) ? nil : ClientBench.device(generator.pick(["phone", "other"])),
                    replacedBy: generator.one(in: 2) ? nil : ClientBench.call(generator.pick(names))
                )
            )
        }
        return .signal(envelope, content())
    }

    private mutating func content() -> ServerMessage.Content {
        let round = generator.one(in: 2) ? nil : UInt32.random(in: 0...3, using: &generator)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0 where generator.one(in: 2):
            var offer = IncomingOffer(
                sdp: "",
                ringUntil: now + .seconds(Int64.random(in: -10...200, using: &generator))
            )
            offer.schedule = IncomingSchedule(id: ScheduleID("s"), data: generator.one(in: 2) ? nil : "1")
            return .offer(offer)
        case 0, 1, 2:
            return .offer(
                IncomingOffer(
                    sdp: "v=0 \(Int.random(in: 0..<4, using: &generator))",
                    round: round,
                    ringUntil: generator.one(in: 3)
                        ? nil : now + .seconds(Int64.random(in: -100...200, using: &generator)),
                    isWaiting: generator.one(in: 3)
                )
            )
        case 3: return .ringing
        case 4: return .answer(sdp: "v=0 \(Int.random(in: 0..<4, using: &generator))", round: round)
        case 5, 6: return .ice(generator.one(in: 3) ? nil : "{}", round: round)
        case 7: return .update(MediaUpdate(hold: generator.one(in: 2)))
        case 8: return generator.one(in: 2) ? .connected : .dtmf("1")
        default: return .end(generator.one(in: 2) ? nil : generator.pick(EndReason.allCases))
        }
    }
}
