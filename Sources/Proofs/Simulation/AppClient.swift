import CallClient
import CallCore
import CallWire
import SeededRandom

/// The app of a simulated device: the real client core, a media engine with delays, and an app that carries out
/// intents.
///
/// Every description, candidate and message in a world has a unique number. By this number the world finds the input
/// that caused an output of the core, and checks the output.
final class AppClient: DeviceCore {
    var client: CallClient
    let user: UserID
    let device: DeviceID
    var generator: SeededGenerator
    /// Returns the next number for descriptions and candidates, unique in the world.
    let nextNumber: () -> Int
    /// The pending results of the engine, soonest first.
    private var engine: [(at: Moment, input: CallClient.Input)] = []
    private var count = 0
    private let uuidPrefix: String

    /// For each content, the signals with which it arrived: at most one of each call, the newest arrival last.
    ///
    /// If a crash of the server loses a call, its offer arrives again under another epoch. An output for the call of
    /// the first epoch then belongs to the signal that arrived under the first epoch.
    var arrivals: [String: [(call: CallName, signal: Delivery)]] = [:]
    /// The descriptions that arrived with a push, before the call's log.
    var descriptionsFromPushes: Set<String> = []
    /// The unacknowledged signals by id, each with its kind and call.
    var underWay: [String: (kind: SignalKind, name: CallName)] = [:]
    /// The round of the newest description that the engine made for each call.
    var rounds: [CallUUID: UInt32] = [:]
    /// The numbers of the fetches whose response has arrived.
    private var fetched: Set<UInt64> = []
    /// The remote description that is set in the engine, by call.
    var remoteDescriptions: [CallUUID: Remote] = [:]
    /// The UUIDs of the calls that the system (CallKit) knows.
    var reported: Set<CallUUID> = []
    var answeredBy: [CallUUID: String] = [:]

    /// The rounds that senders gave to their descriptions, by content.
    var descriptionRounds: [String: Int64?] = [:]
    /// The candidates that arrived, each with whether the engine has it.
    var candidates: [CallName: [Candidate]] = [:]
    var reconnection = Reconnection()
    var registration: Registration
    /// How many of a hundred reported calls the system does not show.
    private let refusedReports: Int
    /// Whether the app runs in the foreground.
    var isAwake = true
    /// Whether the input that the core handles is one for which a connection must not wait.
    var isInputUrgent = false
    /// When the newest attempts to connect began, since something last ended the pauses between them.
    var attempts: [Moment] = []

    /// Whether anything arrived or was set since the candidates were last checked.
    var hasUncheckedArrivals = false

    /// Receives each input of the core and of the connection's machine as a line.
    private(set) var trace: CoreTrace.App?

    /// The origin of the remote description in the engine.
    struct Remote {
        var device: String
        var round: Int64?
        var seq: UInt64
    }

    struct Candidate {
        let text: String
        let device: String
        let round: Int64
        let seq: UInt64
        var isAdded = false
    }

    init(
        user: UserID,
        device: DeviceID,
        instance: Int,
        environment: Registration.Environment?,
        generator: SeededGenerator,
        nextNumber: @escaping () -> Int
    ) {
        registration = Registration(
            device: device,
            platform: "ios",
            bundleID: "com.example.app",
            environment: environment
        )
        self.user = user
        self.device = device
        self.generator = generator
        self.nextNumber = nextNumber
        var configuration = CallClient.Configuration(user: user, device: device, signalIDPrefix: "\(instance)")
        configuration.ringTimeout = .seconds(self.generator.percent(40) ? self.generator.within(5...30) : 45)
        configuration.maximumCallGroups = self.generator.percent(20) ? 1 : 2
        configuration.awaitsReports = self.generator.percent(50)
        refusedReports = self.generator.percent(40) ? 25 : 0
        client = CallClient(configuration)
        // The first part of this app's UUIDs, which is unique for each device and each start of its app.
        let digits = String(self.generator.next() | 1 << 63, radix: 16)
        uuidPrefix = "\(digits.prefix(8))-\(digits.dropFirst(8).prefix(4))-4000-8000-"
    }

    /// Lets a trace receive the core's inputs.
    func begin(_ trace: CoreTrace?) { self.trace = trace?.app(client.configuration) }

    var calls: [CoreCall] {
        client.calls.map { call in
            let phase: CoreCall.Phase =
                switch call.phase {
                case .preparing, .calling: .calling
                case .ringing: .ringing
                case .hiddenByOutgoingCall: .hiddenByOutgoingCall
                case .answering: .answering
                case .connecting, .active: .talking
                case .ended: .ended
                }
            return CoreCall(
                name: name(of: call),
                isCaller: call.side == .caller,
                phase: phase,
                reason: call.reason,
                cause: nil,
                answeredBy: call.side == .caller ? answeredBy[call.uuid] : call.isAnswered ? device.text : nil
            )
        }
    }

    func name(of call: CallClient.Call) -> CallName {
        CallName(id: call.callID, pair: Pair(user, call.peer), epoch: call.epoch ?? 0)
    }

    var deadline: Moment? {
        [engine.first?.at, client.deadline, reconnection.deadline, registration.deadline].compactMap { $0 }.min()
    }

    func handle(_ input: CoreInput, at now: Moment, into outputs: inout [CoreOutput]) {
        take(input, at: now, into: &outputs)
        checkCandidates(into: &outputs)
    }

    private func take(_ input: CoreInput, at now: Moment, into outputs: inout [CoreOutput]) {
        switch input {
        // A real app is told of its attempts to connect instead.
        case .connected, .disconnected: break
        case .inUse, .wantsConnection, .attemptOpened, .attemptClosed, .pathChanged, .tokens, .login, .registered:
            takeConnection(input, at: now, into: &outputs)
        case .frame(let frame):
            if let object = frame.object { signalArrived(object, into: &outputs) }
            let object = frame.incoming
            if case .ack(let id, let ack) = object { acknowledged(id.text, ack, into: &outputs) }
            if case .draining(let pause) = object { reconnect(.draining(pause), at: now, into: &outputs) }
            passToCore(.received(object), from: frame.bytes[Frame.headroom...], at: now, into: &outputs)
        case .push(let payload): pushed(payload, at: now, into: &outputs)
        case .response(let id, let status, let body):
            guard let id = SignalID(id) else { return }
            let result: Result<Ack, RequestFailure> =
                status == 0 ? .failure(.unreachable) : Ack.reply(status: status, body: body)
            if case .success(let ack) = result { acknowledged(id.text, ack, into: &outputs) }
            passToCore(.posted(id, result), status: status, from: body[...], at: now, into: &outputs)
        case .fetched(_, let number, let status, let body):
            // The HTTP library may repeat a request. The core awaits only the first response, so a second one is
            // dropped.
            guard fetched.insert(number).inserted else { return }
            if status == 200, let object = MessageReader.object(body) {
                for element in object.elements(of: .signals).compactMap({ MessageReader.object($0) }) {
                    signalArrived(element, into: &outputs)
                }
            }
            let result: Result<FetchedCall, RequestFailure> =
                status == 0 ? .failure(.unreachable) : FetchedCall.reply(status: status, body: body)
            let input = CallClient.Input.fetched(FetchNumber(rawValue: number), result)
            passToCore(input, status: status, from: body[...], at: now, into: &outputs)
        case .tokenExpired: passToCore(.tokenExpired, at: now, into: &outputs)
        case .tokenRenewed:
            passToCore(.tokenRenewed, at: now, into: &outputs)
            // The server may have refused the connection because of the earlier token.
            attempts = []
            if isAwake { reconnect(.wanted(isUrgent: true), at: now, into: &outputs) }
        case .intent(let intent): carryOut(intent, at: now, into: &outputs)
        case .deadlineReached:
            while let first = engine.first, first.at <= now {
                engine.removeFirst()
                if case .reportFailed(let uuid, _) = first.input { noteSilenced(uuid, into: &outputs) }
                passToCore(first.input, at: now, into: &outputs)
            }
            if let deadline = client.deadline, deadline <= now { passToCore(.deadlineReached, at: now, into: &outputs) }
            takeConnectionDeadlines(at: now, into: &outputs)
        }
    }

    /// Passes an input to the core and performs its outputs.
    ///
    /// `status` and `bytes`: What the input was read from, if it came from the server.
    func passToCore(
        _ input: CallClient.Input,
        status: Int = 0,
        from bytes: ArraySlice<UInt8> = [],
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        trace?.write(input, status, bytes, at: now)
        let wanted = client.handle(input, at: now)
        for output in wanted {
            isInputUrgent = input.isUrgent
            perform(output, at: now, into: &outputs)
        }
    }

    /// Passes a push to the core, whose outputs for this push must contain a report to the system (I6).
    private func pushed(_ payload: [UInt8], at now: Moment, into outputs: inout [CoreOutput]) {
        var isReported = false
        let input = CallClient.Input.pushed(MessageReader.push(payload))
        trace?.write(input, 0, payload[...], at: now)
        for output in client.handle(input, at: now) {
            isInputUrgent = true
            switch output {
            case .reportIncoming, .reportRepeated: isReported = true
            default: break
            }
            perform(output, at: now, into: &outputs)
        }
        if !isReported { outputs.append(.report(.broken("I6", "\(device.text) got a push and reported no call"))) }
    }

    private func carryOut(_ intent: Intent, at now: Moment, into outputs: inout [CoreOutput]) {
        switch intent {
        case .call(let id, let peer, _, _):
            count += 1
            let digits = String(count)
            guard
                let uuid = CallUUID(uuidPrefix + String(repeating: "0", count: 12 - digits.count) + digits)
            else { return }
            // An outgoing call begins with an action of the system, so the system knows it.
            reported.insert(uuid)
            let start = CallClient.StartCall(uuid: uuid, callID: id, to: peer, hasVideo: generator.percent(50))
            passToCore(.startCall(start), at: now, into: &outputs)
        case .answer(let name, _):
            if let uuid = find(name) { passToCore(.answer(uuid), at: now, into: &outputs) }
        case .end(let name, let reason):
            guard let uuid = find(name) else { return }
            let before = client.calls.last { $0.uuid == uuid }
            passToCore(.end(uuid, reason), at: now, into: &outputs)
            // The core does not report to the system an end that the system itself asked for, so the end is reported to
            // the world here.
            if let before { outputs.append(.report(.ended(self.name(of: before), reason, .user, replacedBy: nil))) }
        case .send(let name, let kind, let fields):
            guard let uuid = find(name) else { return }
            send(kind, fields, uuid, at: now, into: &outputs)
        }
    }

    private func send(
        _ kind: SignalKind,
        _ fields: String,
        _ uuid: CallUUID,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        switch kind {
        case .offer: passToCore(.renegotiate(uuid, restartsICE: generator.percent(50)), at: now, into: &outputs)
        case .ice:
            let value = String(fields.dropFirst("\"candidate\":".count))
            if let round = rounds[uuid] {
                passToCore(.localCandidate(uuid, round: round, value), at: now, into: &outputs)
            }
        case .connected: passToCore(.mediaConnected(uuid), at: now, into: &outputs)
        case .update:
            if fields.contains("hold") {
                passToCore(.setHeld(uuid, fields.contains("true")), at: now, into: &outputs)
            } else {
                passToCore(.setMuted(uuid, audio: generator.percent(50)), at: now, into: &outputs)
            }
        case .dtmf: passToCore(.playDTMF(uuid, "1#"), at: now, into: &outputs)
        case .info: passToCore(.sendInfo(uuid, String(fields.dropFirst("\"data\":".count))), at: now, into: &outputs)
        // The engine makes answers by itself, and the core sends `ringing` by itself.
        case .answer, .ringing: break
        case .end: passToCore(.end(uuid), at: now, into: &outputs)
        }
    }

    private func find(_ name: CallName) -> CallUUID? {
        client.calls.last { $0.isLive && self.name(of: $0) == name }?.uuid
    }

    // MARK: The system

    /// Decides whether the system shows a call, and plans what it says about that.
    func systemShows(_ uuid: CallUUID, at now: Moment) -> Bool {
        if generator.percent(refusedReports) {
            // Not `otherUser`: no system says that.
            let why = generator.pick([Silence.focus, .blockList, .full, .system]) ?? .system
            later(generator.within(1...200), .reportFailed(uuid, why), at: now)
            return false
        }
        if client.configuration.awaitsReports { later(generator.within(1...200), .reportSucceeded(uuid), at: now) }
        return true
    }

    /// Reports to the world that the system does not show a call that the core lets ring.
    private func noteSilenced(_ uuid: CallUUID, into outputs: inout [CoreOutput]) {
        guard let call = client.calls.last(where: { $0.uuid == uuid }), call.phase.name == .ringing else { return }
        outputs.append(.report(.silenced(name(of: call))))
    }

    // MARK: The engine

    /// Plans the results of the engine: a description, and some candidates.
    func make(_ kind: CallClient.DescriptionKind, _ uuid: CallUUID, round: UInt32, at now: Moment) {
        rounds[uuid] = round
        let delay = generator.percent(95) ? generator.within(5...300) : generator.within(300...4_000)
        let sdp = "v=0\r\no=- \(nextNumber()) 1 IN IP4 0.0.0.0\r\n"
        later(delay, .localDescription(uuid, round: round, kind, sdp: sdp), at: now)
        for _ in 0..<generator.below(3) {
            // Some candidates are ready before their description.
            let text = "{\"candidate\":\"candidate:\(nextNumber()) 1 udp 1 0.0.0.0 9 typ host\"}"
            later(delay + generator.within(-3...900), .localCandidate(uuid, round: round, text), at: now)
        }
    }

    private func later(_ delay: Int64, _ input: CallClient.Input, at now: Moment) {
        let at = now + .milliseconds(max(1, delay))
        let place = engine.firstIndex { at < $0.at } ?? engine.count
        engine.insert((at, input), at: place)
    }
}
