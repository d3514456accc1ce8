import CallCore
import CallPorts
import CallWire

@testable import Switchboard

/// Values for the tests of the switchboard's parts: a moment, connections and calls without a switchboard.
enum Values {
    static let now = Moment(milliseconds: 1_700_000_000_000)

    /// A connection of a user.
    static func connection(_ number: UInt64, _ user: String) throws -> Connection {
        let principal = try principal(user)
        return Connection(
            id: SocketID(rawValue: number),
            principal: principal,
            device: DeviceIdentity(id: try device("d\(number)"), fingerprint: principal.fingerprint),
            isNamed: true,
            isStateless: false,
            bucket: TokenBucket(perSecond: 50, burst: 200, at: now),
            at: now
        )
    }

    /// A device with an id.
    static func identity(_ name: String) throws -> DeviceIdentity {
        DeviceIdentity(id: try device(name), fingerprint: TokenFingerprint(rawValue: 1))
    }

    /// An offer whose description has this digest.
    static func offer(_ digest: UInt64, begins: Bool = false) -> Offer {
        Offer(digest: digest, hasVideo: false, ringTimeout: .seconds(45), namesCallee: false, begins: begins)
    }

    /// A ringing call of 11 (device a1) to 10, which began with the offer `o` of digest 1.
    static func call(
        _ name: String = "c-1",
        number: Int64 = 1,
        epoch: UInt32 = 1,
        by device: DeviceIdentity? = nil,
        hidden: CallRecord.Hidden? = nil
    ) throws -> Call {
        let (caller, callee) = (try user("11"), try user("10"))
        var session = CallSession(
            number: CallNumber(rawValue: number),
            key: CallKey(id: try SwitchboardTests.call(name), pair: Pair(caller, callee)),
            epoch: epoch,
            caller: caller,
            device: try device ?? Self.identity("a1"),
            offer: offer(1),
            isHidden: hidden != nil,
            grace: .seconds(30),
            at: now
        )
        var outputs: [CallSession.Output] = []
        let signal = Signal(.offer(offer(1)), id: SignalID("o"))
        session.begin(with: signal, reachesCallee: hidden == nil, at: now, into: &outputs)
        let call = Call(session: session, room: "p2p:11-10", displayName: nil, hidden: hidden, isWaiting: false)
        call.frames = KeptFrames(
            whole: session.log.map { _ in [UInt8](repeating: 0, count: CallWire.Frame.headroom) }
        )
        call.offerTransports = [.connection]
        return call
    }
}
