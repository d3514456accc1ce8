import CallCore
import CallWire

/// A small correct client: what the protocol asks of an app, and no more.
final class ModelClient: PhoneCore {
    private struct Call {
        var view: CoreCall
        var peer: UserID
        var lastSeq: UInt64 = 0
        var seen: Set<String> = []
        /// Rings or calls until then, whatever is heard.
        var until: Moment?
        /// Devices whose description the app has.
        var described: Set<String> = []
        /// Candidates that came before it.
        var early: [Delivery] = []
        /// Frames that came before the epoch was known.
        var held: [[UInt8]] = []
        var outbox: [Outgoing] = []
        var offerIsKnown = false
    }

    private let user: UserID
    private let device: DeviceID
    private let prefix: String
    private var count = 0
    private var table: [Call] = []
    private var isConnected = false
    private static let resendAfter = Moment.Span.milliseconds(2_000)

    init(user: UserID, device: DeviceID, instance: Int) {
        self.user = user
        self.device = device
        prefix = "\(instance)."
    }

    var calls: [CoreCall] { table.map(\.view) }

    var deadline: Moment? {
        var least: Moment?
        for call in table {
            if call.view.phase != .ended, let until = call.until { least = least.map { min($0, until) } ?? until }
            for one in call.outbox {
                let at = one.sentAt.map { $0 + Self.resendAfter } ?? Moment(milliseconds: 0)
                least = least.map { min($0, at) } ?? at
            }
        }
        return least
    }

    func handle(_ input: CoreInput, at now: Moment, into outputs: inout [CoreOutput]) {
        switch input {
        case .connected:
            isConnected = true
            for index in table.indices { resend(index, at: now, evenRecent: true, into: &outputs) }
        case .disconnected: isConnected = false
        case .frame(let frame):
            guard let object = try? JSONObject(frame, in: WireLimits.headroom..<frame.count) else { return }
            take(object, frame, at: now, into: &outputs)
        case .push(let payload): woken(by: payload, at: now, into: &outputs)
        case .response(let id, let status, let body):
            guard status != 0, let object = try? JSONObject(body) else { return }
            if status == 200 {
                acknowledged(id, object, at: now, into: &outputs)
            } else {
                refused(id, object.text(of: .code) ?? "", at: now, into: &outputs)
            }
        case .fetched(let id, _, let status, let body): fetched(id, status, body, at: now, into: &outputs)
        case .tokenExpired, .tokenRenewed: break
        case .intent(let intent): wish(intent, at: now, into: &outputs)
        case .deadlineReached: tick(at: now, into: &outputs)
        }
    }

    // MARK: Out

    private func wish(_ intent: Intent, at now: Moment, into outputs: inout [CoreOutput]) {
        switch intent {
        case .call(let id, let peer, let ringSeconds, let sdp):
            let name = CallName(id: id, pair: Pair(user, peer), epoch: 0)
            // A name whose end has not arrived yet is still in use: the new offer would be taken for a renegotiation.
            if table.contains(where: { $0.view.name.key == name.key && !$0.outbox.isEmpty }) { return }
            var call = Call(view: CoreCall(name: name, isCaller: true, phase: .calling), peer: peer)
            call.until = now + .seconds((ringSeconds ?? 45) + 5)
            // An earlier use of the name is over for this phone.
            table.removeAll { $0.view.name.key == name.key }
            table.append(call)
            let ring = ringSeconds.map { ",\"ringTimeout\":\($0)" } ?? ""
            say(.offer, "\(sdpField(sdp))\(ring)", in: table.count - 1, at: now, into: &outputs)
        case .answer(let name, let sdp):
            guard let index = find(name), table[index].view.phase == .ringing else { return }
            table[index].view.phase = .answering
            table[index].until = now + .seconds(30)
            say(.answer, sdpField(sdp), in: index, at: now, into: &outputs)
        case .end(let name, let reason):
            guard let index = find(name), table[index].view.phase != .ended else { return }
            let field = reason.map { "\"reason\":\"\($0.rawValue)\"" } ?? ""
            finish(index, reason, .user, at: now, into: &outputs)
            say(.end, field, in: index, at: now, into: &outputs)
        case .say(let name, let kind, let fields):
            guard let index = find(name), table[index].view.phase != .ended else { return }
            // Until the epoch is known a new description could begin another call.
            if kind == .offer, !table[index].offerIsKnown { return }
            say(kind, fields, in: index, at: now, into: &outputs)
        }
    }

    private func sdpField(_ number: Int) -> String { "\"sdp\":\"v=0\\r\\no=- \(number) 1 IN IP4 0.0.0.0\\r\\n\"" }

    private func say(
        _ kind: SignalKind,
        _ fields: String,
        in index: Int,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        count += 1
        let call = table[index]
        var one = Outgoing(
            kind: kind,
            id: prefix + String(count),
            callID: call.view.name.id,
            peer: call.peer,
            epoch: call.view.name.epoch,
            fields: fields
        )
        one.sentAt = now
        one.tries = 1
        table[index].outbox.append(one)
        // What follows an offer has no call to go to before it is there.
        let waits = call.view.isCaller && !call.offerIsKnown && kind != .offer && kind != .end && kind != .ice
        if !waits { outputs.append(.transmit(one)) }
    }

    private func resend(_ index: Int, at now: Moment, evenRecent: Bool, into outputs: inout [CoreOutput]) {
        for place in table[index].outbox.indices {
            let one = table[index].outbox[place]
            guard evenRecent || one.sentAt.map({ now >= $0 + Self.resendAfter }) ?? true else { continue }
            table[index].outbox[place].sentAt = now
            table[index].outbox[place].tries += 1
            if one.kind != .offer, table[index].view.name.epoch > 0 {
                table[index].outbox[place].epoch = table[index].view.name.epoch
            }
            outputs.append(.transmit(table[index].outbox[place]))
        }
    }

    private func tick(at now: Moment, into outputs: inout [CoreOutput]) {
        for index in table.indices {
            if let until = table[index].until, now >= until, table[index].view.phase != .ended {
                table[index].until = nil
                let wasAnswering = table[index].view.phase == .answering
                let wasCalling = table[index].view.phase == .calling
                finish(index, wasAnswering ? .failed : .unanswered, .timer, at: now, into: &outputs)
                if wasAnswering || wasCalling { say(.end, "", in: index, at: now, into: &outputs) }
            }
            // An ended call is given up after a while: the server has timers of its own.
            if table[index].view.phase == .ended {
                table[index].outbox.removeAll { $0.tries > 30 }
            }
            resend(index, at: now, evenRecent: false, into: &outputs)
        }
        if table.count > 24 {
            table.removeAll { $0.view.phase == .ended && $0.outbox.isEmpty }
        }
    }

    private func finish(
        _ index: Int,
        _ reason: EndReason?,
        _ cause: Cause,
        replacedBy: CallID? = nil,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        guard table[index].view.phase != .ended else { return }
        table[index].view.phase = .ended
        table[index].view.reason = reason
        table[index].view.cause = cause
        table[index].until = nil
        // Only the offer may still be wanted, if it is not known to be there; then an end follows it.
        table[index].outbox.removeAll { $0.kind != .end }
        outputs.append(.report(.ended(table[index].view.name, reason, cause, replacedBy: replacedBy)))
    }

    // MARK: In

    private func find(_ name: CallName) -> Int? { table.lastIndex { $0.view.name == name } }

    private func outgoing(_ id: String) -> (Int, Int)? {
        for index in table.indices.reversed() {
            if let place = table[index].outbox.firstIndex(where: { $0.id == id }) { return (index, place) }
        }
        return nil
    }

    private func acknowledged(_ id: String, _ object: JSONObject, at now: Moment, into outputs: inout [CoreOutput]) {
        guard let (index, place) = outgoing(id) else {
            // The offer of a call that was given up has arrived after all.
            sayEndAgain(object, at: now, into: &outputs)
            return
        }
        let one = table[index].outbox.remove(at: place)
        let epoch = UInt32(truncatingIfNeeded: object.number(of: .epoch) ?? 0)
        let seq = UInt64(object.number(of: .seq) ?? 0)
        // Only the offer knows: anything else may have gone into a call of the peer's under the same name.
        if one.kind == .offer, table[index].view.name.epoch == 0, epoch > 0 { adopt(epoch, in: index) }
        outputs.append(.report(.acknowledged(table[index].view.name, seq: seq, id: id, kind: one.kind)))
        if one.kind == .offer, !table[index].offerIsKnown {
            table[index].offerIsKnown = true
            resend(index, at: now, evenRecent: true, into: &outputs)
        }
        if object.text(of: .state) == "ended", one.kind == .offer || one.kind == .answer {
            let reason = object.text(of: .reason).flatMap { EndReason(rawValue: $0) }
            finish(
                index,
                reason,
                .told,
                replacedBy: object.text(of: .replacedBy).flatMap { CallID($0) },
                at: now,
                into: &outputs
            )
        } else if one.kind == .answer, table[index].view.phase == .answering {
            talks(index, with: device.text, at: now, into: &outputs)
        }
        let held = table[index].held
        table[index].held = []
        for frame in held {
            if let object = try? JSONObject(frame, in: WireLimits.headroom..<frame.count) {
                take(object, frame, at: now, into: &outputs)
            }
        }
    }

    private func adopt(_ epoch: UInt32, in index: Int) {
        table[index].view.name.epoch = epoch
        // What was said before the epoch was known is said in it from now on.
        for place in table[index].outbox.indices where table[index].outbox[place].kind != .offer {
            table[index].outbox[place].epoch = epoch
        }
    }

    private func refused(_ id: String, _ code: String, at now: Moment, into outputs: inout [CoreOutput]) {
        guard let (index, place) = outgoing(id) else { return }
        let one = table[index].outbox[place]
        switch code {
        case "rate_limited", "store_unavailable", "draining", "internal_error": return
        case _ where table[index].view.isCaller && !table[index].offerIsKnown && one.kind != .end && one.kind != .offer:
            // It overtook the offer, and met no call or an earlier one of the name.
            return
        default: break
        }
        table[index].outbox.remove(at: place)
        outputs.append(.report(.refused(table[index].view.name, kind: one.kind, code: code)))
        switch one.kind {
        case .offer where !table[index].offerIsKnown: finish(index, .failed, .refused, at: now, into: &outputs)
        case .answer where table[index].view.phase == .answering:
            finish(
                index,
                code == "already_answered" ? .answeredElsewhere : nil,
                .refused,
                at: now,
                into: &outputs
            )
        case .offer, .answer, .ringing, .ice, .connected, .update, .dtmf, .info, .end:
            if code == "already_answered", table[index].view.phase == .ringing {
                finish(index, .answeredElsewhere, .refused, at: now, into: &outputs)
            }
            if code == "call_ended" || code == "not_found" { finish(index, nil, .refused, at: now, into: &outputs) }
        }
    }

    private func talks(_ index: Int, with winner: String, at now: Moment, into outputs: inout [CoreOutput]) {
        guard table[index].view.phase != .ended else { return }
        table[index].until = nil
        table[index].view.answeredBy = winner
        guard table[index].view.phase != .talking else { return }
        table[index].view.phase = .talking
        outputs.append(.report(.answered(table[index].view.name)))
    }

    private func sayEndAgain(_ object: JSONObject, at now: Moment, into outputs: inout [CoreOutput]) {
        guard let text = object.text(of: .callId), let id = CallID(text), object.text(of: .state) != "ended",
            let index = table.lastIndex(where: { $0.view.name.id == id && $0.view.phase == .ended && $0.view.isCaller }
            ),
            table[index].outbox.isEmpty, let epoch = object.number(of: .epoch)
        else { return }
        if table[index].view.name.epoch == 0 { adopt(UInt32(truncatingIfNeeded: epoch), in: index) }
        guard table[index].view.name.epoch == UInt32(truncatingIfNeeded: epoch) else { return }
        say(.end, "", in: index, at: now, into: &outputs)
    }

    private func take(_ object: JSONObject, _ frame: [UInt8], at now: Moment, into outputs: inout [CoreOutput]) {
        guard let type = object.text(of: .type) else { return }
        switch type {
        case "ack": if let id = object.text(of: .id) { acknowledged(id, object, at: now, into: &outputs) }
        case "error":
            if let id = object.text(of: .id) { refused(id, object.text(of: .code) ?? "", at: now, into: &outputs) }
        case "call": entry(nil, object, frame, at: now, into: &outputs)
        default: if let kind = SignalKind(rawValue: type) { entry(kind, object, frame, at: now, into: &outputs) }
        }
    }

    /// One entry of a call's log, by socket or fetch.
    private func entry(
        _ kind: SignalKind?,
        _ object: JSONObject,
        _ frame: [UInt8],
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        guard let id = object.text(of: .callId).flatMap({ CallID($0) }), let room = object.text(of: .room),
            case .pair(let peer)? = try? Room(room, for: user), let seq = object.number(of: .seq).map({ UInt64($0) }),
            let epoch = object.number(of: .epoch).map({ UInt32(truncatingIfNeeded: $0) })
        else { return }
        let key = CallKey(id: id, pair: Pair(user, peer))
        var index = table.lastIndex { $0.view.name.key == key }
        if let known = index {
            if table[known].view.name.epoch == 0 {
                guard table[known].held.count < 64 else { return }
                table[known].held.append(frame)
                return
            }
            if epoch < table[known].view.name.epoch {
                takeOlder(epoch, known, kind, object, into: &outputs)
                return
            }
            if epoch > table[known].view.name.epoch {
                finish(known, .replaced, .told, at: now, into: &outputs)
                index = nil
            }
        }
        if index == nil { index = begin(kind, key, peer, epoch, object, at: now, into: &outputs) }
        guard let index, seq > table[index].lastSeq else { return }
        table[index].lastSeq = seq
        if let kind {
            signal(kind, index, seq, object, at: now, into: &outputs)
        } else {
            state(index, object, at: now, into: &outputs)
        }
    }

    /// An earlier call of the same name, which is over for this phone, lives on the server: a crash took what ended it.
    private func takeOlder(
        _ epoch: UInt32,
        _ index: Int,
        _ kind: SignalKind?,
        _ object: JSONObject,
        into outputs: inout [CoreOutput]
    ) {
        guard kind == nil, object.text(of: .state) != "ended", table[index].view.phase == .ended else { return }
        count += 1
        outputs.append(
            .transmit(
                Outgoing(
                    kind: .end,
                    id: prefix + String(count),
                    callID: table[index].view.name.id,
                    peer: table[index].peer,
                    epoch: epoch,
                    fields: "",
                    tries: 1
                )
            )
        )
    }

    /// A call that this phone hears of for the first time, or of which it has forgotten.
    private func begin(
        _ kind: SignalKind?,
        _ key: CallKey,
        _ peer: UserID,
        _ epoch: UInt32,
        _ object: JSONObject,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) -> Int? {
        let name = CallName(id: key.id, pair: key.pair, epoch: epoch)
        if kind == .offer, object.text(of: .from) == peer.text, let until = object.number(of: .ringUntil) {
            ring(name, peer, for: until - (object.number(of: .ts) ?? until), at: now, into: &outputs)
            return table.count - 1
        }
        if kind == nil, object.text(of: .state) == "ended" { return nil }
        // A call that lives on the server and that this app knows nothing of any more: its media is gone.
        var call = Call(view: CoreCall(name: name, isCaller: kind == nil, phase: .talking), peer: peer)
        call.offerIsKnown = true
        table.append(call)
        finish(table.count - 1, .failed, .late, at: now, into: &outputs)
        say(.end, "\"reason\":\"failed\"", in: table.count - 1, at: now, into: &outputs)
        return table.count - 1
    }

    private func ring(
        _ name: CallName,
        _ peer: UserID,
        for milliseconds: Int64,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        var call = Call(view: CoreCall(name: name, isCaller: false, phase: .ringing), peer: peer)
        call.until = now + .milliseconds(max(0, milliseconds) + 5_000)
        call.offerIsKnown = true
        table.removeAll { $0.view.name.key == name.key }
        table.append(call)
        outputs.append(.report(.rang(name)))
        say(.ringing, "", in: table.count - 1, at: now, into: &outputs)
    }

    private func signal(
        _ kind: SignalKind,
        _ index: Int,
        _ seq: UInt64,
        _ object: JSONObject,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        let from = object.text(of: .fromDevice) ?? ""
        let id = object.text(of: .id)
        if let id, !table[index].seen.insert("\(from) \(id)").inserted { return }
        let name = table[index].view.name
        let delivery = Delivery(seq: seq, kind: kind, device: from, id: id)
        if kind == .ice, !table[index].described.contains(from) {
            table[index].early.append(delivery)
            return
        }
        outputs.append(.report(.delivered(name, delivery)))
        if kind == .offer || kind == .answer {
            table[index].described.insert(from)
            let early = table[index].early
            table[index].early.removeAll { $0.device == from }
            for one in early where one.device == from { outputs.append(.report(.delivered(name, one))) }
        }
        if kind == .answer, table[index].view.phase == .calling {
            table[index].view.answeredBy = from
        }
    }

    private func state(_ index: Int, _ object: JSONObject, at now: Moment, into outputs: inout [CoreOutput]) {
        let winner = object.inner(of: .answeredBy)?.text(of: .device)
        switch object.text(of: .state) {
        case "answered", "active":
            guard let winner else { return }
            if table[index].view.phase == .ended {
                if table[index].outbox.isEmpty, table[index].view.isCaller || winner == device.text {
                    say(.end, "", in: index, at: now, into: &outputs)
                }
                return
            }
            if !table[index].view.isCaller, winner != device.text { return }
            if !table[index].view.isCaller, table[index].view.phase == .ringing {
                // It was this app before it forgot: its media is gone.
                finish(index, .failed, .late, at: now, into: &outputs)
                say(.end, "\"reason\":\"failed\"", in: index, at: now, into: &outputs)
                return
            }
            talks(index, with: winner, at: now, into: &outputs)
        case "ended":
            let reason = object.text(of: .reason).flatMap { EndReason(rawValue: $0) }
            let replacedBy = object.text(of: .replacedBy).flatMap { CallID($0) }
            // An end of our own goes on until it is acknowledged: what is relayed need not be durable yet.
            finish(index, reason, .told, replacedBy: replacedBy, at: now, into: &outputs)
        default:
            // It rings on the server, and was ended here.
            if table[index].view.phase == .ended, table[index].outbox.isEmpty, table[index].view.isCaller {
                say(.end, "", in: index, at: now, into: &outputs)
            }
        }
    }

    private func woken(by payload: [UInt8], at now: Moment, into outputs: inout [CoreOutput]) {
        guard let object = try? JSONObject(payload), let id = object.text(of: .callId).flatMap({ CallID($0) }),
            let peer = object.text(of: .fromUserId).flatMap({ UserID($0) }),
            let epoch = object.number(of: .epoch).map({ UInt32(truncatingIfNeeded: $0) }),
            let until = object.number(of: .ringUntil), let sentAt = object.number(of: .sentAt)
        else { return }
        let name = CallName(id: id, pair: Pair(user, peer), epoch: epoch)
        if let index = table.lastIndex(where: { $0.view.name.key == name.key }) {
            // Known already: the same call, or an older one. A call of our own under that name is not known by epoch yet.
            if table[index].view.name.epoch == 0 || table[index].view.name.epoch >= epoch { return }
            finish(index, .replaced, .told, at: now, into: &outputs)
        }
        ring(name, peer, for: until - sentAt, at: now, into: &outputs)
        if now.milliseconds > until {
            finish(table.count - 1, .unanswered, .late, at: now, into: &outputs)
            table[table.count - 1].outbox = []
            return
        }
        outputs.append(.fetch(id, since: 0, epoch: epoch, number: 0, capability: nil))
    }

    private func fetched(
        _ id: CallID,
        _ status: Int,
        _ body: [UInt8],
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        guard let object = try? JSONObject(body) else { return }
        guard status == 200 else {
            guard status == 404 else { return }
            // The server does not know it, or not any more.
            for index in table.indices where table[index].view.name.id == id && table[index].offerIsKnown {
                finish(index, nil, .refused, at: now, into: &outputs)
            }
            return
        }
        for element in object.elements(of: .signals) {
            let frame = [UInt8](repeating: 0, count: WireLimits.headroom) + element
            if let inner = try? JSONObject(element), let type = inner.text(of: .type) {
                entry(SignalKind(rawValue: type), inner, frame, at: now, into: &outputs)
            }
        }
        guard let room = object.text(of: .room), case .pair(let peer)? = try? Room(room, for: user) else { return }
        let key = CallKey(id: id, pair: Pair(user, peer))
        let epoch = UInt32(truncatingIfNeeded: object.number(of: .epoch) ?? 0)
        guard let index = table.lastIndex(where: { $0.view.name.key == key }), table[index].view.name.epoch > 0 else {
            return
        }
        if epoch > table[index].view.name.epoch {
            finish(index, .replaced, .told, at: now, into: &outputs)
        } else if object.text(of: .state) == "ended", table[index].view.name.epoch == epoch {
            let reason = object.text(of: .reason).flatMap { EndReason(rawValue: $0) }
            finish(index, reason, .told, at: now, into: &outputs)
        }
    }
}
