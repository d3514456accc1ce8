import CallCore
import CallWire

/// A small correct client: it does what the protocol requires of an app, and no more.
final class ModelClient: DeviceCore {
    struct Call {
        var view: CoreCall
        var peer: UserID
        var lastSeq: UInt64 = 0
        var seen: Set<String> = []
        /// The moment at which ringing or calling ends, whatever the server sends.
        var until: Moment?
        /// The devices whose description the app has.
        var describedDevices: Set<String> = []
        /// The candidates that arrived before their device's description.
        var early: [Delivery] = []
        /// The frames that arrived before the epoch was known.
        var held: [[UInt8]] = []
        var outbox: [Outgoing] = []
        var offerIsKnown = false
    }

    let user: UserID
    /// Its device id; that of an unnamed device changes with its `welcome`.
    var device: DeviceID
    let prefix: String
    var count = 0
    var table: [Call] = []
    /// The newest epoch of the earlier calls under each callId.
    var past: [CallKey: UInt32] = [:]
    var isConnected = false
    /// Whether unacknowledged signals are sent again only on a new socket, and never by a timer.
    let resendsOnlyOnNewSocket: Bool
    static let resendAfter = Moment.Duration.milliseconds(2_000)

    init(user: UserID, device: DeviceID, instance: Int, resendsOnlyOnNewSocket: Bool = false) {
        self.resendsOnlyOnNewSocket = resendsOnlyOnNewSocket
        self.user = user
        self.device = device
        prefix = "\(instance)."
    }

    var calls: [CoreCall] { table.map(\.view) }

    var deadline: Moment? {
        var least: Moment?
        for call in table {
            if call.view.phase != .ended, let until = call.until { least = least.map { min($0, until) } ?? until }
            for one in call.outbox where isSentAgainByTimer(one) {
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
            guard let object = frame.object else { return }
            take(object, frame.bytes, at: now, into: &outputs)
        case .push(let payload): woken(by: payload, at: now, into: &outputs)
        case .response(let id, let status, let body):
            guard status != 0, let object = MessageReader.object(body) else { return }
            if status == 200 {
                acknowledged(id, object, at: now, into: &outputs)
            } else {
                refused(id, object.text(of: .code) ?? "", at: now, into: &outputs)
            }
        case .fetched(let id, _, let status, let body): fetched(id, status, body, at: now, into: &outputs)
        case .tokenExpired, .tokenRenewed, .inUse, .wantsConnection, .attemptOpened, .attemptClosed, .pathChanged,
            .tokens, .login, .registered:
            break
        case .intent(let intent): carryOut(intent, at: now, into: &outputs)
        case .deadlineReached: tick(at: now, into: &outputs)
        }
    }

    func tick(at now: Moment, into outputs: inout [CoreOutput]) {
        for index in table.indices {
            if let until = table[index].until, now >= until, table[index].view.phase != .ended {
                table[index].until = nil
                let wasAnswering = table[index].view.phase == .answering
                let wasCalling = table[index].view.phase == .calling
                finish(index, wasAnswering ? .failed : .unanswered, .timer, at: now, into: &outputs)
                if wasAnswering || wasCalling { send(.end, "", in: index, at: now, into: &outputs) }
            }
            // The `end` of a call is given up after some 30 tries, because the server ends the call by its own timers.
            if table[index].view.phase == .ended {
                table[index].outbox.removeAll { $0.tries > 30 }
            }
            resend(index, at: now, evenRecent: false, into: &outputs)
        }
        if table.count > 24 {
            table.removeAll { $0.view.phase == .ended && $0.outbox.isEmpty }
        }
    }

    func finish(
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
        // Only an `end` is still sent. If the offer has arrived nevertheless, another `end` is sent when the offer's
        // ack comes.
        table[index].outbox.removeAll { $0.kind != .end }
        outputs.append(.report(.ended(table[index].view.name, reason, cause, replacedBy: replacedBy)))
    }

    /// Whether a signal is sent again by a timer: the server has put it off, or this client does so with every signal.
    func isSentAgainByTimer(_ one: Outgoing) -> Bool { !resendsOnlyOnNewSocket || one.isPutOff }

    func find(_ name: CallName) -> Int? { table.lastIndex { $0.view.name == name } }

    func outgoing(_ id: String) -> (Int, Int)? {
        for index in table.indices.reversed() {
            if let place = table[index].outbox.firstIndex(where: { $0.id == id }) { return (index, place) }
        }
        return nil
    }

    func startTalking(_ index: Int, with answeringDevice: String, at now: Moment, into outputs: inout [CoreOutput]) {
        guard table[index].view.phase != .ended else { return }
        table[index].until = nil
        table[index].view.answeredBy = answeringDevice
        guard table[index].view.phase != .talking else { return }
        table[index].view.phase = .talking
        outputs.append(.report(.answered(table[index].view.name)))
    }
}
