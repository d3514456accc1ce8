import CallCore
import CallPorts
import SeededRandom

/// The push services: their response to a push is independent of the push's delivery to a device.
final class PushServices: Part {
    private let network: Network

    init(_ course: Course, _ network: Network) {
        self.network = network
        super.init(course)
    }

    /// Notes a push that the server orders, and returns after how many milliseconds it is on the wire.
    func ordered(_ push: OutgoingPush) -> Int64 {
        statistics.pushes += 1
        log(
            "server ~ APNs: \(push.route.kind.rawValue) push \(push.id.rawValue) for \(push.route.token), \(push.route.environment?.rawValue ?? "")"
        )
        checker.pushRequested(push, at: now)
        return draws.pushes.within(5...60)
    }

    /// Returns the device that has, or had, a push token.
    private func device(of token: String) -> SimulatedDevice? {
        let prefix = SimulatedDevice.alertPrefix
        let token = token.hasPrefix(prefix) ? String(token.dropFirst(prefix.count)) : token
        return network.devices.first { $0.token == token || $0.oldTokens.contains { $0.token == token } }
    }

    /// Returns whether a push goes to the service, and the environment, that gave the device its token.
    private func accepts(_ push: OutgoingPush, _ device: SimulatedDevice) -> Bool {
        push.route.environment == (device.kind.isThroughAPNs ? device.environment : nil)
    }

    /// Handles a push that is on the wire; `respond` plans the service's response after a number of milliseconds.
    func arrived(_ push: OutgoingPush, respond: (PushResult, Int64) -> Void) {
        func report(_ result: PushResult) { respond(result, draws.pushes.within(5...200)) }
        if checker.isCancelled(push.id) { return report(.cancelled) }
        checker.attempted(push.id)
        guard let device = device(of: push.route.token), accepts(push, device) else {
            return report(Self.unknownToken(push.route.kind))
        }
        if let old = device.oldTokens.first(where: { $0.token == push.route.token }) {
            return report(Self.deadToken(push.route.kind, since: Moment(milliseconds: old.until)))
        }
        if faults.contains(.pushes), !isHealed, draws.pushes.percent(30) { return failPush(push, device, report) }
        report(Self.accepted)
        deliver(push, to: device)
    }

    /// Handles a push of a deposed owner, whose response concerns nobody.
    func arrivedFromDeposed(_ push: OutgoingPush) {
        guard let device = device(of: push.route.token), device.token == push.route.token, accepts(push, device) else {
            return
        }
        deliver(push, to: device)
    }

    private static let accepted = PushResult.response(status: 200, reason: nil, timestamp: nil)

    /// Returns the response of a push service that has never given out the token.
    private static func unknownToken(_ kind: PushKind) -> PushResult {
        if kind.isThroughAPNs { return .response(status: 400, reason: "BadDeviceToken", timestamp: nil) }
        return kind == .firebase
            ? .response(status: 400, reason: FirebaseReason.invalidToken, timestamp: nil)
            : .response(status: 404, reason: nil, timestamp: nil)
    }

    /// Returns the response of a push service to which the token is no longer valid.
    private static func deadToken(_ kind: PushKind, since: Moment) -> PushResult {
        if kind.isThroughAPNs { return .response(status: 410, reason: "Unregistered", timestamp: since) }
        return kind == .firebase
            ? .response(status: 404, reason: FirebaseReason.unregistered, timestamp: nil)
            : .response(status: 410, reason: nil, timestamp: nil)
    }

    private func failPush(_ push: OutgoingPush, _ device: SimulatedDevice, _ report: (PushResult) -> Void) {
        if push.route.kind == .web, draws.pushes.percent(20) {
            return report(.response(status: 413, reason: nil, timestamp: nil))
        }
        if !push.route.kind.isThroughAPNs, draws.pushes.percent(20) {
            let until = moment + .milliseconds(draws.pushes.within(100...4_000))
            return report(.deferred(status: 503, reason: "UNAVAILABLE", until: until))
        }
        switch draws.pushes.below(9) {
        case 0: report(.response(status: 429, reason: "TooManyRequests", timestamp: nil))
        case 1: report(.response(status: 500, reason: "InternalServerError", timestamp: nil))
        case 2: report(.response(status: 503, reason: "ServiceUnavailable", timestamp: nil))
        case 3: report(.response(status: 400, reason: "TopicDisallowed", timestamp: nil))
        case 4: report(.unreachable("the connection was lost"))
        case 5:
            // The push is taken, but the response is lost.
            report(.unreachable("no answer"))
            deliver(push, to: device)
        case 6:
            report(Self.accepted)
            deliver(push, to: device)
            deliver(push, to: device)
        case 7:
            report(Self.accepted)
            let late = max(0, push.expiresAt.milliseconds - moment.milliseconds) + draws.pushes.within(1_000...60_000)
            after(late, .pushDelivered(device: device.index, payload: push.payload))
        default:
            // The push is taken, and never delivered.
            report(Self.accepted)
        }
    }

    private func deliver(_ push: OutgoingPush, to device: SimulatedDevice) {
        // An alert starts no app, and of other services' notices an app makes no call.
        guard push.route.kind != .alert, push.kept != .aDay else { return }
        let delay = draws.pushes.percent(85) ? draws.pushes.within(50...1_200) : draws.pushes.within(1_200...8_000)
        after(delay, .pushDelivered(device: device.index, payload: push.payload))
    }
}
