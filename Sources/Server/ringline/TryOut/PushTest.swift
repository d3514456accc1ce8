import CallCore
import CallPorts
import CallTrace
import CallWire
import Crypto
import Identity
import Switchboard

/// Sends one device a push as a call would, and puts the push service's response into words.
struct PushTest {
    let device: DeviceRecord
    /// Apple's environment to try first if the device's record contains none.
    let preferred: APNsEnvironment?
    /// Signs the capability that the woken app presents to the server; with `nil` the push has none.
    let capability: RingCapability?
    /// Additional payload keys that the device's app has asked for.
    var aliases = PayloadAliases()

    /// For how many seconds the device may ring if the app does not check whether the call exists.
    private static let ringSeconds: Int64 = 10

    /// The kind of push: a VoIP push if there is a token for it, even if calls ring in another way because VoIP pushes
    /// had no effect; `nil` = the device has no token.
    private var kind: PushKind? { device.routes.has(.voip) ? .voip : device.ringingPush }

    /// Sends the push by the best route, to Apple's other environment too if the first does not know the token, and reports
    /// the result.
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - send: sends a push and waits for its result.
    ///   - say: receives a line for each response.
    /// - Returns: whether the push service accepted the push.
    func run(at now: Moment, send: (OutgoingPush) -> PushResult, say: (String) -> Void) -> Bool {
        let first = device.workingEnvironment ?? device.environment ?? preferred ?? .production
        guard let kind, let route = device.route(for: kind, first) else {
            say("\(device.id.text): no push token is registered")
            return false
        }
        for (index, route) in [route, route.inOtherEnvironment].enumerated() {
            guard let route else { return false }
            let result = send(makePush(by: route, number: UInt64(index) + 1, at: now))
            say("\(device.id.text): \(Self.words(result, route))" + (kind == .alert ? " (an alert)" : ""))
            switch result {
            case .response where result.isAccepted: return true
            // The token may belong to the other environment: builds from Xcode have sandbox tokens, all other builds
            // have production tokens. The server tries both environments in the same way.
            case .response(400, "BadDeviceToken", _): continue
            case .response, .deferred, .unreachable, .notSent, .impossible, .cancelled, .onlyLogged: return false
            }
        }
        return false
    }

    static func words(_ result: PushResult, _ route: PushRoute) -> String {
        let subject = route.environment.map { "APNs \($0.rawValue)" } ?? route.kind.service.name
        let hint = route.kind.service.hint(for: result).map { ": \($0)" } ?? ""
        switch result {
        case .response where result.isAccepted: return "\(subject) \(route.kind.service.testAccepted)"
        case .response(let status, let reason, let since):
            let when = since.map { " since \(Timestamp.text($0))" } ?? ""
            return "\(subject) refused the push with \(status) \(reason ?? "without a reason")\(when)\(hint)"
        case .deferred(let status, let reason, _):
            return "\(subject) refused the push for now with \(status) \(reason ?? "without a reason")\(hint)"
        case .unreachable(let why): return "\(subject) gave no response: \(why)\(hint)"
        case .notSent(let why): return "\(subject) was not asked: \(why)"
        case .impossible(let fault): return "\(subject) was not asked: \(fault.rawValue)\(hint)"
        case .cancelled: return "\(subject) was not asked"
        case .onlyLogged: return "\(subject) was not asked\(hint)"
        }
    }

    private func makePush(by route: PushRoute, number: UInt64, at now: Moment) -> OutgoingPush {
        let id = UUIDv5.url("ringline push-test \(Hex.encode(SecureRandom.bytes(16)))")
        return OutgoingPush(
            id: PushID(rawValue: number),
            route: route,
            uuid: id,
            payload: payload(id, route.kind, at: now),
            kept: route.kind == .voip ? .never : .untilExpiry,
            collapseID: route.kind == .alert || route.kind == .web ? id : nil,
            expiresAt: now + .seconds(10)
        )
    }

    /// Returns the payload of a call's push, for a call that does not exist.
    private func payload(_ uuid: String, _ kind: PushKind, at now: Moment) -> [UInt8] {
        let until = now + .seconds(Self.ringSeconds)
        let caller = "ringline-test"
        var payload = IncomingCallPayload(
            callID: uuid,
            epoch: 1,
            caller: caller,
            name: "Ringline test",
            callee: device.user.text,
            room: "p2p:\(caller)-\(device.user.text)",
            hasVideo: false,
            uuid: uuid,
            ringUntil: until,
            capability: capability.flatMap { capability in
                guard let call = CallID(uuid), let peer = UserID(caller) else { return nil }
                return capability.issue(
                    .init(
                        callId: call,
                        epoch: 1,
                        user: device.user,
                        peer: peer,
                        device: device.id,
                        validUntilMs: until.milliseconds
                    )
                )
            }
        )
        payload.aliases = aliases
        payload.form = kind.form
        payload.sound = device.sound
        return payload.fitted(at: now)
    }
}
