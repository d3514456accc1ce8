import CallCore
import CallPorts
import CallWire
import JSON
import SeededRandom
import Switchboard

/// Frames and request bodies of signals, as a switchboard with three users handles them.
///
/// The first byte of each line determines the sender, the pause before the line, and whether the rest of the line is
/// a request's body or a frame.
struct FrameTarget: FuzzTarget {
    func take(_ bytes: [UInt8]) throws {
        let desk = try FuzzSwitchboard()
        for line in bytes.split(separator: UInt8(ascii: "\n")).prefix(64) {
            guard let first = line.first else { continue }
            let pause = Int(first >> 4) * 100
            desk.take(Array(line.dropFirst()), from: Int(first) % 3, asRequest: first & 8 != 0, after: pause)
        }
        desk.close()
    }
}

/// A switchboard with three users, each with one connection, and a store that accepts every commit.
final class FuzzSwitchboard {
    static let start = Moment(milliseconds: 1_700_000_000_000)

    private var switchboard: Switchboard
    private let users: [Principal]
    private var now = FuzzSwitchboard.start
    private var lastRequest: UInt64 = 0
    private var outputs: [Switchboard.Output] = []
    /// The changes of each commit, in order.
    private(set) var commits: [[Change]] = []
    /// The number of frames and replies that the switchboard has sent.
    private(set) var said = 0

    /// Whether the switchboard began with the state of a damaged database.
    private let isDamaged: Bool

    init(damaged stored: StoredState? = nil, at now: Moment = FuzzSwitchboard.start) throws {
        self.now = now
        isDamaged = stored != nil
        let stored = stored ?? StoredState()
        switchboard = Switchboard(
            policy: Policy(),
            stored: stored,
            ports: .init(capabilities: Capabilities(), random: SeededGenerator(seed: 7)),
            at: now
        )
        users = ["10", "11", "12"].compactMap { UserID($0) }.enumerated().map {
            Principal(user: $0.element, fingerprint: TokenFingerprint(rawValue: UInt64($0.offset) + 1))
        }
        for (number, principal) in users.enumerated() {
            give(.opened(SocketID(rawValue: UInt64(number)), principal, device: DeviceID("d\(number)")))
        }
    }

    func take(_ frame: [UInt8], from number: Int, asRequest: Bool, after milliseconds: Int) {
        now = now + .milliseconds(Int64(milliseconds))
        if asRequest {
            let message = try? SignalMessage(body: frame, callIDInPath: CallID("call"), ringTimeout: .seconds(45))
            guard let message else { return }
            lastRequest += 1
            give(.requested(RequestID(rawValue: lastRequest), users[number], .signal(message)))
        } else {
            // The gateway passes on only valid UTF-8.
            guard String(validating: frame, as: UTF8.self) != nil else { return }
            give(.received(SocketID(rawValue: UInt64(number)), frame))
        }
    }

    /// Registers a device of user 11, and lets user 11 block user 12 and set do-not-disturb.
    func setUp() {
        let registration = DeviceRegistration(
            tokens: [.voip: .plain(String(repeating: "ab", count: 32))],
            bundleID: "com.example.app",
            platform: "ios",
            device: DeviceID("d1"),
            environment: .production
        )
        let requests: [Switchboard.Request] = [
            .devices(.register(registration)), .blocks(.block(users[2].user)),
            .blocks(.doNotDisturb(until: now + .seconds(60))),
        ]
        for request in requests {
            lastRequest += 1
            give(.requested(RequestID(rawValue: lastRequest), users[1], request))
        }
    }

    /// Advances the clock by an hour and reports every deadline that is reached.
    func close() {
        let end = now + .seconds(3_600)
        var turns = 0
        while let deadline = switchboard.deadline, deadline <= end {
            turns += 1
            expect(turns < 10_000, "there are no endless timers")
            now = max(now, deadline)
            give(.deadlineReached)
        }
    }

    private func give(_ input: Switchboard.Input) {
        switchboard.handle(input, at: now, into: &outputs)
        switchboard.flush(at: now, into: &outputs)
        while !outputs.isEmpty {
            let batch = outputs
            outputs = []
            for output in batch {
                switch output {
                case .send(_, let frame):
                    said += 1
                    let text = Array(frame.dropFirst(Frame.headroom))
                    // The content of a damaged row is sent as it was stored.
                    expect(
                        isDamaged || (try? JSONObject(text)) != nil,
                        "sent JSON: \(String(decoding: text, as: UTF8.self))"
                    )
                case .reply: said += 1
                case .commit(let changes, let ticket):
                    commits.append(changes)
                    switchboard.handle(.stored(.committed(upTo: ticket)), at: now, into: &outputs)
                case .submit(_, let id):
                    let failed = StoreResult.failed(StoreFailure("not here"))
                    switchboard.handle(.stored(.queryResult(id, failed)), at: now, into: &outputs)
                case .verify(let connection, let name, _):
                    let principal = users[Int(connection.rawValue)]
                    switchboard.handle(.verified(connection, id: name, .success(principal)), at: now, into: &outputs)
                default: break
                }
            }
        }
    }
}

private struct Capabilities: CapabilityIssuer {
    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String { "act" }
}
