import CallCore
import CallPorts
import CallWire
import Crypto
import Identity

/// Sends one device a push as a call would, and puts Apple's response into words.
struct PushTest {
    let device: DeviceRecord
    /// Apple's environment to try first if the device's record contains none.
    let preferred: APNsEnvironment?
    /// Signs the capability that the woken app presents to the server; with `nil` the push has none.
    let capability: RingCapability?
    /// The keys that the device's app wants in the payload besides.
    var aliases = PayloadAliases()

    /// For how many seconds the device may ring if the app does not check whether the call exists.
    private static let ringSeconds: Int64 = 10

    /// The kind of push: a VoIP push if there is a token for it, even if calls ring by alerts because VoIP pushes had no
    /// effect.
    private var kind: OutgoingPush.Kind { device.voipToken == nil && device.alertToken != nil ? .alert : .voip }

    /// Sends the push, to Apple's other environment too if the first does not know the token, and reports the result.
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - send: sends a push and waits for its result.
    ///   - say: receives a line for each response.
    /// - Returns: whether Apple accepted the push.
    func run(at now: Moment, send: (OutgoingPush) -> PushResult, say: (String) -> Void) -> Bool {
        guard let token = device.token(for: kind) else {
            let words = device.fcmToken == nil ? "" : "; Firebase pushes are not supported yet"
            say("\(device.id.text): no VoIP or alert token is registered\(words)")
            return false
        }
        let first = device.workingEnvironment ?? device.environment ?? preferred ?? .production
        for (index, environment) in [first, first.other].enumerated() {
            let result = send(makePush(token, environment, number: UInt64(index) + 1, at: now))
            say("\(device.id.text): \(Self.words(result, environment))" + (kind == .alert ? " (an alert)" : ""))
            switch result {
            case .response(200, _, _): return true
            // The token may belong to the other environment: builds from Xcode have sandbox tokens, all other builds
            // have production tokens. The server tries both environments in the same way.
            case .response(400, "BadDeviceToken", _): continue
            case .response, .unreachable, .cancelled, .onlyLogged: return false
            }
        }
        return false
    }

    static func words(_ result: PushResult, _ environment: APNsEnvironment) -> String {
        let subject = "APNs \(environment.rawValue)"
        let hint = PushHint.text(for: result).map { ": \($0)" } ?? ""
        switch result {
        case .response(200, _, _): return "\(subject) accepted the push; the device rings now if it is on and reachable"
        case .response(let status, let reason, let since):
            let when = since.map { " since \(Timestamp.text($0))" } ?? ""
            return "\(subject) refused the push with \(status) \(reason ?? "without a reason")\(when)\(hint)"
        case .unreachable(let why): return "\(subject) gave no response: \(why)\(hint)"
        case .cancelled, .onlyLogged: return "\(subject) was not asked"
        }
    }

    private func makePush(
        _ token: String,
        _ environment: APNsEnvironment,
        number: UInt64,
        at now: Moment
    ) -> OutgoingPush {
        let id = UUIDv5.url("ringline push-test \(Hex.encode(SecureRandom.bytes(16)))")
        return OutgoingPush(
            id: PushID(rawValue: number),
            token: token,
            topic: device.topic(for: kind),
            kind: kind,
            environment: environment,
            apnsID: id,
            payload: payload(id, at: now),
            kept: kind == .voip ? .never : .untilExpiry,
            expiresAt: now + .seconds(10)
        )
    }

    /// Returns the payload of a call's push, for a call that does not exist.
    private func payload(_ uuid: String, at now: Moment) -> [UInt8] {
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
        payload.isAlert = kind == .alert
        return payload.bytes(at: now)
    }
}
