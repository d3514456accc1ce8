import CallCore
import CallPorts
import CallTrace
import CallWire
import JSON
import SeededRandom
import Storing
import Testing

@testable import Switchboard

/// A fake issuer whose capabilities are plain texts: call, epoch, user, device and end of validity.
struct Capabilities: CapabilityIssuer {
    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String { "act-\(call.text)-\(epoch)-\(user.text)-\(device.text)-\(until.milliseconds)" }
}

struct Missing: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A switchboard with a simulated clock and a fake store, and all its outputs by connection and request.
///
/// Commits are made immediately, unless ``holdsCommits`` is set; then ``commit()`` makes them.
final class SwitchboardWorld {
    static let start = Moment(milliseconds: 1_700_000_000_000)

    var switchboard: Switchboard
    let policy: Policy
    private(set) var now: Moment
    var holdsCommits = false
    /// Whether the store cannot be read.
    var failsQueries = false
    /// Whether the store's results are held back until ``deliverResults()``.
    var holdsResults = false

    private(set) var frames: [SocketID: [Frame]] = [:]
    private(set) var replies: [RequestID: Reply] = [:]
    private(set) var closes: [SocketID: UInt16] = [:]
    /// The connections that were closed, in order, each with its close reason.
    private(set) var farewells: [(connection: SocketID, reason: String)] = []
    private(set) var pings: [SocketID: Int] = [:]
    /// For each connection that was pinged, the number before its first ping.
    private(set) var pingBases: [SocketID: UInt64] = [:]
    private var adopted: Set<SocketID> = []
    /// The marks and bonds that were put out, and the frames between them, by connection and in order.
    private(set) var marks: [SocketID: [Mark]] = [:]
    private(set) var pushes: [OutgoingPush] = []
    private(set) var cancelled: [PushID] = []
    /// The events that were posted to endpoints of the app's backend.
    private(set) var deliveries: [EventRequest] = []
    /// The questions that were asked of the app's backend.
    private(set) var questions: [DecisionRequest] = []
    private(set) var notes: [Switchboard.Note] = []
    private(set) var audited: [AuditEvent] = []
    private(set) var traced: [Switchboard.TraceNote] = []
    private(set) var revoked: [UserID: Moment] = [:]
    private(set) var done: [OperatorCommandID] = []
    private(set) var queries: [(StoreQuery, StoreQueryID)] = []
    private(set) var verifications: [(SocketID, SignalID?, String)] = []
    private(set) var changes: [Change] = []
    private(set) var heldTickets: [Ticket] = []
    private(set) var kept = Kept()
    /// Sets the number of rows that each page of the call directory is said to have read.
    func setRowsReadForPages(_ count: Int) { kept.numbers.rowsRead = count }

    private var delivered = 0
    private var lastConnection: UInt64 = 0
    private var lastRequest: UInt64 = 0

    init(
        _ adjust: (inout Policy) -> Void = { _ in },
        zones: (any TimeZoneSource)? = SystemZones(),
        stored: StoredState = StoredState(),
        after earlier: Kept? = nil,
        seed: UInt64 = 7,
        at now: Moment = SwitchboardWorld.start
    ) {
        var policy = Policy()
        policy.pushServices = PushService.all
        adjust(&policy)
        self.policy = policy
        self.now = now
        kept = Kept(stored, after: earlier)
        switchboard = Switchboard(
            policy: policy,
            stored: stored,
            ports: .init(
                capabilities: Capabilities(),
                timeZones: zones,
                explainer: Verdicts(),
                random: SeededGenerator(seed: seed)
            ),
            at: now
        )
    }

    // MARK: Inputs

    /// Hands in one input, and carries out the outputs as a gateway would.
    func give(_ input: Switchboard.Input) {
        var outputs: [Switchboard.Output] = []
        switchboard.handle(input, at: now, into: &outputs)
        switchboard.flush(at: now, into: &outputs)
        for output in outputs { take(output) }
    }

    /// Answers the newest ping that a connection was sent.
    func pong(_ connection: SocketID) {
        give(.ponged(connection, pingBases[connection, default: 0] + UInt64(pings[connection, default: 0])))
    }

    /// Lets time pass, and wakes the switchboard at each of its deadlines, as the gateway does.
    func wait(_ duration: Moment.Duration) {
        let end = now + duration
        var turns = 0
        while let deadline = switchboard.deadline, deadline <= end {
            turns += 1
            guard turns < 100_000 else {
                Issue.record("the switchboard asks to be woken again and again at \(deadline)")
                break
            }
            now = max(now, deadline)
            give(.deadlineReached)
        }
        now = max(now, end)
    }

    func wait(_ seconds: Int64) { wait(.seconds(seconds)) }

    /// Lets time pass while the server is not woken.
    func sleep(_ duration: Moment.Duration) { now = now + duration }

    /// Lets time pass while the server is not woken, and then wakes it once.
    func skip(_ seconds: Int64) {
        now = now + .seconds(seconds)
        give(.deadlineReached)
    }

    /// Lets time pass while a device keeps its connection alive.
    func wait(_ seconds: Int64, keeping connection: SocketID) {
        for second in 1...seconds {
            wait(1)
            if pings[connection] != nil { pong(connection) }
            if second % 20 == 0 { send(connection, #"{"type":"ping"}"#) }
        }
    }

    /// Makes the commits that were held back.
    func commit() {
        guard let last = heldTickets.last else { return }
        heldTickets = []
        give(.stored(.committed(upTo: last)))
    }

    func connect(_ principal: Principal, device: String? = nil) -> SocketID {
        lastConnection += 1
        let id = SocketID(rawValue: lastConnection)
        give(.opened(id, principal, device: device.flatMap { DeviceID($0) }))
        return id
    }

    /// Opens a connection of a Socket.IO client.
    func join(_ principal: Principal) -> SocketID {
        lastConnection += 1
        let id = SocketID(rawValue: lastConnection)
        give(.joined(id, principal, device: nil, seen: [:]))
        return id
    }

    /// Hands over a connection of a user's named device, or of a client that named none, that an earlier owner had.
    func adopt(
        _ principal: Principal,
        _ device: String? = nil,
        assigned: String? = nil,
        openFor: Moment.Duration = .seconds(60),
        seen: [CallNumber: UInt64] = [:]
    ) -> SocketID {
        lastConnection += 1
        let id = SocketID(rawValue: lastConnection)
        adopted.insert(id)
        give(
            .adopted(
                id,
                principal,
                device: device.flatMap { DeviceID($0) },
                assigned: assigned.flatMap { DeviceID($0) },
                openFor: openFor,
                seen: seen
            )
        )
        return id
    }

    /// Opens a connection; returns the code with which it was closed immediately, if it was.
    func closing(_ user: String, _ device: String) throws -> UInt16? {
        let id = try open(user, device)
        return closes[id]
    }

    /// Opens a connection of a user's named device.
    func open(_ user: String, _ device: String) throws -> SocketID { connect(try principal(user), device: device) }

    func send(_ connection: SocketID, _ frame: String) { give(.received(connection, Array(frame.utf8))) }

    @discardableResult
    func request(_ principal: Principal, _ request: Switchboard.Request) -> RequestID {
        lastRequest += 1
        let id = RequestID(rawValue: lastRequest)
        give(.requested(id, principal, request))
        return id
    }

    /// Makes a request, and returns its response; throws if there is no response immediately.
    func reply(_ principal: Principal, _ request: Switchboard.Request) throws -> Reply {
        let id = self.request(principal, request)
        guard let reply = replies[id] else { throw Missing("no reply yet") }
        return reply
    }

    func post(_ principal: Principal, _ body: String) throws -> Reply {
        let message = try SignalMessage(body: Array(body.utf8), callIDInPath: nil, ringTimeout: policy.ringTimeout)
        return try reply(principal, .signal(message))
    }

    // MARK: Outputs

    private func take(_ output: Switchboard.Output) {
        switch output {
        case .send(let id, let bytes):
            let frame = Frame(bytes)
            frames[id, default: []].append(frame)
            marks[id, default: []].append(.frame(frame.type))
        case .marked(let id, let call, let seq): marks[id, default: []].append(.mark(call.rawValue, seq))
        case .bound(let id, let isBound): marks[id, default: []].append(.bound(isBound))
        case .ping(let id, let number):
            pings[id, default: 0] += 1
            // Pings are numbered from 1, and those of an adopted connection from another number.
            let base = pingBases[id] ?? (adopted.contains(id) ? number - 1 : 0)
            pingBases[id] = base
            #expect(number - base == UInt64(pings[id, default: 0]), "they are numbered in order")
        case .close(let id, let code, let reason, _):
            if closes[id] == nil { closes[id] = code }
            farewells.append((id, reason))
            give(.closed(id))
        case .reply(let id, let reply):
            if replies[id] != nil { Issue.record("request \(id.rawValue) was answered twice") }
            replies[id] = reply
        case .verify(let id, let name, let token): verifications.append((id, name, token))
        case .commit(let batch, let ticket):
            changes += batch
            kept.apply(batch)
            heldTickets.append(ticket)
            if !holdsCommits { commit() }
        case .submit(let query, let id):
            queries.append((query, id))
            if !holdsResults { deliverResults() }
        case .push(let push): pushes.append(push)
        case .deliver(let request): deliveries.append(request)
        case .ask(let question): questions.append(question)
        case .cancelPush(let id): cancelled.append(id)
        case .revoked(let user, let moment): revoked[user] = moment
        case .done(let id): done.append(id)
        case .note(let note): notes.append(note)
        case .audit(let event): audited.append(event)
        case .trace(let note): traced.append(note)
        }
    }

    /// Hands in the results of the store's open queries.
    func deliverResults() {
        let open = queries[delivered...]
        delivered = queries.count
        for (query, id) in open {
            let result = failsQueries ? .failed(StoreFailure("cannot be read")) : kept.run(query)
            give(.stored(.queryResult(id, result)))
        }
    }

    /// Returns the frames that a connection was sent since the last call of this function.
    func takeFrames(of connection: SocketID) -> [Frame] { frames.removeValue(forKey: connection) ?? [] }

    /// Returns the pushes that were requested since the last call of this function.
    func takenPushes() -> [OutgoingPush] {
        defer { pushes = [] }
        return pushes
    }

    /// Returns the details of all timeline events of one kind.
    func events(_ kind: String) -> [String] {
        changes.compactMap {
            if case .event(_, let event) = $0, event.event.name == kind { event.event.details } else { nil }
        }
    }

    /// Returns a world with the next run of the server, which starts from what this world has stored.
    func restarted(
        uncleanStarts: Int = 0,
        _ adjust: (inout Policy) -> Void = { _ in },
        after seconds: Int64 = 0
    ) -> SwitchboardWorld {
        let stored = kept.state(uncleanStarts: uncleanStarts)
        return SwitchboardWorld(adjust, stored: stored, after: kept, at: now + .seconds(seconds))
    }
}

/// An output that concerns the next owner of a connection, or a frame between such outputs, by its type.
enum Mark: Equatable {
    case mark(Int64, UInt64)
    case bound(Bool)
    case frame(String)
}

/// A frame as a client reads it.
struct Frame: CustomStringConvertible {
    let description: String
    private let object: JSONObject?

    init(_ bytes: [UInt8]) {
        description = String(decoding: bytes.dropFirst(CallWire.Frame.headroom), as: UTF8.self)
        object = try? JSONObject(Array(bytes.dropFirst(CallWire.Frame.headroom)))
        if object == nil { Issue.record("no JSON: \(description)") }
    }

    /// The value of a member as it was written; a string comes without its quotes.
    subscript(_ name: String) -> String? {
        guard let object, let member = object.members.first(where: { object.name(of: $0) == name }) else { return nil }
        return object.string(member) ?? String(decoding: object.bytes[member.value], as: UTF8.self)
    }

    var type: String { self["type"] ?? "" }
    var seq: UInt64 { self["seq"].flatMap { UInt64($0) } ?? 0 }
}

extension [Frame] {
    var types: [String] { map(\.type) }
    func of(_ type: String) -> [Frame] { filter { $0.type == type } }
    /// The states and reasons of the `call` events.
    var states: [String] {
        of("call").map { frame in [frame["state"], frame["reason"]].compactMap { $0 }.joined(separator: " ") }
    }
    var ack: Frame? { of("ack").last }
    var code: String? { of("error").last?["code"] }
}

extension Reply {
    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(_ name: String) -> String? { Frame([UInt8](repeating: 0, count: CallWire.Frame.headroom) + body)[name] }
}

func user(_ text: String) throws -> UserID {
    guard let id = UserID(text) else { throw Missing("\(text) is no user id") }
    return id
}

func call(_ text: String) throws -> CallID {
    guard let id = CallID(text) else { throw Missing("\(text) is no call id") }
    return id
}

func device(_ text: String) throws -> DeviceID {
    guard let id = DeviceID(text) else { throw Missing("\(text) is no device id") }
    return id
}

/// The principal of a user's token; two tokens of one user have different fingerprints.
func principal(_ text: String, token: UInt64 = 1, device name: String? = nil) throws -> Principal {
    let sum = text.utf8.reduce(token) { $0 &* 31 &+ UInt64($1) }
    return Principal(
        user: try user(text),
        fingerprint: TokenFingerprint(rawValue: sum),
        name: "Name of \(text)",
        device: try name.map { try device($0) }
    )
}
