import CallCore
import CallWire
import Crypto
import Identity
import Switchboard

/// A VoIP push to one device, as a call would send it, and what Apple says to it in words.
struct PushTest {
    let device: DeviceRecord
    /// Which of Apple's services is asked where the device does not say.
    let preferred: APNsEnvironment?
    /// Signs what the woken app shows the server; `nil` leaves that out.
    let capability: RingCapability?

    /// For how long the phone may ring, should the app not look whether there is such a call.
    private static let ringSeconds: Int64 = 10

    /// Sends it, to the other service too where the first does not know the token, and says what came of it.
    ///
    /// - Parameters:
    ///   - now: the moment.
    ///   - send: sends an order and waits for its result.
    ///   - say: gets a line for each answer.
    /// - Returns: whether Apple took it.
    func run(at now: Moment, send: (PushOrder) -> PushResult, say: (String) -> Void) -> Bool {
        guard let token = device.voipToken else {
            let words = device.fcmToken == nil ? "" : "; pushes by Firebase are not sent yet"
            say("\(device.id.text): no VoIP token is registered\(words)")
            return false
        }
        let first = device.workingEnvironment ?? device.environment ?? preferred ?? .production
        for (index, environment) in [first, first.other].enumerated() {
            let result = send(order(token, environment, number: UInt64(index) + 1, at: now))
            say("\(device.id.text): \(Self.words(result, environment))")
            switch result {
            case .answered(200, _, _): return true
            // As the server does: builds from Xcode have tokens of the sandbox, all others of production.
            case .answered(400, "BadDeviceToken", _): continue
            case .answered, .unreachable, .cancelled, .onlyLogged: return false
            }
        }
        return false
    }

    static func words(_ result: PushResult, _ environment: APNsEnvironment) -> String {
        let subject = "APNs \(environment.rawValue)"
        let hint = PushHint.text(for: result).map { ": \($0)" } ?? ""
        switch result {
        case .answered(200, _, _): return "\(subject) took the push; the phone rings now if it is on and reachable"
        case .answered(let status, let reason, let since):
            let when = since.map { " since \(Timestamp.text($0))" } ?? ""
            return "\(subject) refused the push, \(status) \(reason ?? "without a reason")\(when)\(hint)"
        case .unreachable(let why): return "\(subject) gave no answer, \(why)\(hint)"
        case .cancelled, .onlyLogged: return "\(subject) was not asked"
        }
    }

    private func order(_ token: String, _ environment: APNsEnvironment, number: UInt64, at now: Moment) -> PushOrder {
        let id = CallCore.UUIDv5.url("ringline push-test \(Hex.encode(SecureRandom.bytes(16)))")
        return PushOrder(
            id: PushID(rawValue: number),
            token: token,
            topic: "\(device.bundleID).voip",
            kind: .voip,
            environment: environment,
            apnsID: id,
            payload: payload(id, at: now),
            giveUpAt: now + .seconds(10)
        )
    }

    /// What a call's push says, of a call that there is not.
    private func payload(_ uuid: String, at now: Moment) -> [UInt8] {
        let until = now + .seconds(Self.ringSeconds)
        return IncomingCallPayload(
            callID: uuid,
            epoch: 1,
            caller: "ringline-test",
            name: "Ringline test",
            room: "p2p:ringline-test-\(device.user.text)",
            hasVideo: false,
            uuid: uuid,
            ringUntil: until,
            act: capability?.issue(
                .init(
                    callId: uuid,
                    epoch: 1,
                    user: device.user.text,
                    peer: "ringline-test",
                    device: device.id.text,
                    validUntilMs: until.milliseconds
                )
            )
        ).bytes(at: now)
    }
}
