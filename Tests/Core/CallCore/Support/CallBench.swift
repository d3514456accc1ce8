import CallCore
import Testing

/// The error of a test whose setup is wrong.
struct InvalidFixture: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

func user(_ text: String) throws -> UserID {
    guard let id = UserID(text) else { throw InvalidFixture("\(text) is not a user id") }
    return id
}

func call(_ text: String) throws -> CallID {
    guard let id = CallID(text) else { throw InvalidFixture("\(text) is not a call id") }
    return id
}

func signalID(_ text: String) throws -> SignalID {
    guard let id = SignalID(text) else { throw InvalidFixture("\(text) is not a signal id") }
    return id
}

/// Returns a device.
///
/// The fingerprint of its token is made from the device's name, so that two devices share none by accident.
func device(_ text: String, fingerprint: UInt64? = nil) throws -> DeviceIdentity {
    let sum = text.utf8.reduce(UInt64(17)) { $0 &* 31 &+ UInt64($1) }
    guard let id = DeviceID(text) else { throw InvalidFixture("\(text) is not a device id") }
    return DeviceIdentity(id: id, fingerprint: TokenFingerprint(rawValue: fingerprint ?? sum))
}

func offer(_ digest: UInt64, hasVideo: Bool = false, ringTimeout: Int64 = 45, namesCallee: Bool = false) -> Offer {
    Offer(digest: digest, hasVideo: hasVideo, ringTimeout: .seconds(ringTimeout), namesCallee: namesCallee)
}

/// A call from user 11 to user 10, with a clock and the outputs of the call.
struct CallBench {
    typealias Output = CallSession.Output

    var session: CallSession
    var now = Moment(milliseconds: 1_000_000)
    let caller: DeviceIdentity
    /// The outputs since the last ``mark()``.
    private(set) var out: [Output] = []

    init(
        callID: String = "c-1",
        epoch: UInt32 = 1,
        firstSeq: UInt64 = 1,
        isHidden: Bool = false,
        reachesCallee: Bool = true,
        callees: [DeviceIdentity] = [],
        caller: DeviceIdentity? = nil,
        first: Offer = offer(1),
        firstID: SignalID? = nil
    ) throws {
        let device = try caller ?? CallCoreTests.device("a1")
        self.caller = device
        session = CallSession(
            number: CallNumber(rawValue: 7),
            key: CallKey(id: try call(callID), pair: Pair(try user("11"), try user("10"))),
            epoch: epoch,
            caller: try user("11"),
            device: device,
            offer: first,
            isHidden: isHidden,
            grace: .seconds(30),
            firstSeq: firstSeq,
            at: now
        )
        for callee in callees { _ = session.handle(.notified(callee), at: now) }
        session.begin(
            with: Signal(.offer(first), id: firstID, byteCount: 100),
            reachesCallee: reachesCallee && !isHidden,
            at: now,
            into: &out
        )
    }

    mutating func mark() { out = [] }

    @discardableResult
    mutating func give(_ input: CallSession.Input) -> [Output] {
        let outputs = session.handle(input, at: now)
        out += outputs
        return outputs
    }

    @discardableResult
    mutating func send(
        _ content: Signal.Content,
        _ side: Side,
        _ device: DeviceIdentity,
        id: String? = nil,
        epoch: UInt32? = nil,
        bytes: Int = 10
    ) throws -> [Output] {
        let name = try id.map { try CallCoreTests.signalID($0) }
        return give(.signal(Signal(content, id: name, epoch: epoch, byteCount: bytes), from: side, device))
    }

    mutating func wait(_ seconds: Int64) { now = now + .seconds(seconds) }

    /// Advances the clock to the call's deadline and hands in that the deadline is reached.
    @discardableResult
    mutating func letTimePass() throws -> [Output] {
        now = try #require(session.deadline)
        return give(.deadlineReached)
    }

    /// Returns a call that `device` has answered.
    static func answered(by device: DeviceIdentity, others: [DeviceIdentity] = []) throws -> CallBench {
        var bench = try CallBench(callees: [device] + others)
        try bench.send(.answer(digest: 2), .callee, device)
        bench.mark()
        return bench
    }

    /// Returns a call in which media flows.
    static func active(with device: DeviceIdentity) throws -> CallBench {
        var bench = try answered(by: device)
        try bench.send(.connected, .callee, device)
        bench.mark()
        return bench
    }

    /// Returns the entries of the whole log that a device sees.
    func shown(_ side: Side, _ device: DeviceIdentity) -> [LogEntry] {
        session.log.filter { session.sees($0, side: side, device: device) }
    }

    /// Returns the reason of each end that a device sees.
    func endings(_ side: Side, _ device: DeviceIdentity) -> [EndReason?] {
        shown(side, device).compactMap { entry in
            guard case .state(let change) = entry.content, change.state == .ended else { return nil }
            return .some(change.reason)
        }
    }
}

extension [CallSession.Output] {
    var entries: [LogEntry] { compactMap { if case .append(let entry) = $0 { entry } else { nil } } }

    var refusal: CallSession.Refusal? {
        compactMap { if case .refuse(let refusal) = $0 { refusal } else { nil } }.first
    }

    /// The `seq` in the acknowledgement, and whether the signal was new.
    var acknowledged: (seq: UInt64, isNew: Bool)? {
        for case .acknowledge(let seq, let isNew) in self { return (seq, isNew) }
        return nil
    }

    var changes: [StateChange] {
        entries.compactMap { if case .state(let change) = $0.content { change } else { nil } }
    }

    var ended: StateChange? { changes.first { $0.state == .ended } }

    /// Whether the only output recognises the signal as one that was accepted before.
    var isOnlyRepeat: Bool { count == 1 && acknowledged?.isNew == false }
}
