import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// Simulates the push services: their response to a push is independent of the push's delivery to a device.
extension SimulatedWorld {
    func pushRequested(_ push: OutgoingPush) {
        statistics.pushes += 1
        log(
            "server ~ APNs: \(push.route.kind.rawValue) push \(push.id.rawValue) for \(push.route.token), \(push.route.environment?.rawValue ?? "")"
        )
        checker.pushRequested(push, at: now)
        let delay = apnsDraws.within(5...60)
        guard let owner else { return after(delay, .pushArrives(run: run, push)) }
        after(delay, owner, .pushArrives(push, run: run))
    }

    /// Returns the device that has, or had, a push token.
    private func owner(of token: String) -> SimulatedDevice? {
        let prefix = SimulatedDevice.alertPrefix
        let token = token.hasPrefix(prefix) ? String(token.dropFirst(prefix.count)) : token
        return devices.first { $0.token == token || $0.oldTokens.contains { $0.token == token } }
    }

    /// Returns whether a push goes to the service, and the environment, that gave the device its token.
    private func accepts(_ push: OutgoingPush, _ device: SimulatedDevice) -> Bool {
        push.route.environment == (device.kind.isThroughAPNs ? device.environment : nil)
    }

    func pushArrives(_ push: OutgoingPush, _ run: Int) {
        // The push is not on the wire yet: it can still be cancelled, and it is lost if the server goes down.
        guard run == self.run, switchboard != nil else { return }
        if checker.isCancelled(push.id) {
            report(.cancelled, push, run)
            return
        }
        checker.attempted(push.id)
        guard let device = owner(of: push.route.token), accepts(push, device) else {
            report(Self.unknownToken(push.route.kind), push, run)
            return
        }
        if let old = device.oldTokens.first(where: { $0.token == push.route.token }) {
            let until = Moment(milliseconds: old.until)
            report(Self.deadToken(push.route.kind, since: until), push, run)
            return
        }
        if faults.contains(.pushes), !isHealed, apnsDraws.percent(30) {
            failPush(push, device, run)
            return
        }
        report(.response(status: 200, reason: nil, timestamp: nil), push, run)
        deliver(push, to: device)
    }

    /// Returns the response of a push service that has never given out the token.
    private static func unknownToken(_ kind: PushKind) -> PushResult {
        switch kind {
        case .voip, .alert: .response(status: 400, reason: "BadDeviceToken", timestamp: nil)
        case .firebase: .response(status: 400, reason: FirebaseReason.invalidToken, timestamp: nil)
        case .web: .response(status: 404, reason: nil, timestamp: nil)
        }
    }

    /// Returns the response of a push service to which the token is no longer valid.
    private static func deadToken(_ kind: PushKind, since: Moment) -> PushResult {
        switch kind {
        case .voip, .alert: .response(status: 410, reason: "Unregistered", timestamp: since)
        case .firebase: .response(status: 404, reason: FirebaseReason.unregistered, timestamp: nil)
        case .web: .response(status: 410, reason: nil, timestamp: nil)
        }
    }

    /// Handles a push that a node hands to the network; that of a deposed owner may still be on its way.
    func nodePushArrives(_ push: OutgoingPush, _ run: Int, _ node: SimulatedNode) {
        if node === owner { return pushArrives(push, run) }
        guard let deposed = node.deposed, deposed.run == run, !deposed.cancelled.contains(push.id),
            let device = owner(of: push.route.token), device.token == push.route.token,
            accepts(push, device)
        else { return }
        deliver(push, to: device)
    }

    private func failPush(_ push: OutgoingPush, _ device: SimulatedDevice, _ run: Int) {
        if push.route.kind == .web, apnsDraws.percent(20) {
            report(.response(status: 413, reason: nil, timestamp: nil), push, run)
            return
        }
        if !push.route.kind.isThroughAPNs, apnsDraws.percent(20) {
            let until = moment + .milliseconds(apnsDraws.within(100...4_000))
            report(.deferred(status: 503, reason: "UNAVAILABLE", until: until), push, run)
            return
        }
        switch apnsDraws.below(9) {
        case 0: report(.response(status: 429, reason: "TooManyRequests", timestamp: nil), push, run)
        case 1: report(.response(status: 500, reason: "InternalServerError", timestamp: nil), push, run)
        case 2: report(.response(status: 503, reason: "ServiceUnavailable", timestamp: nil), push, run)
        case 3: report(.response(status: 400, reason: "TopicDisallowed", timestamp: nil), push, run)
        case 4: report(.unreachable("the connection was lost"), push, run)
        case 5:
            // The push is taken, but the response is lost.
            report(.unreachable("no answer"), push, run)
            deliver(push, to: device)
        case 6:
            report(.response(status: 200, reason: nil, timestamp: nil), push, run)
            deliver(push, to: device)
            deliver(push, to: device)
        case 7:
            report(.response(status: 200, reason: nil, timestamp: nil), push, run)
            let late = max(0, push.expiresAt.milliseconds - moment.milliseconds) + apnsDraws.within(1_000...60_000)
            after(late, .pushDelivered(device: device.index, payload: push.payload))
        default:
            // The push is taken, and never delivered.
            report(.response(status: 200, reason: nil, timestamp: nil), push, run)
        }
    }

    private func deliver(_ push: OutgoingPush, to device: SimulatedDevice) {
        // An alert starts no app, and of other services' notices an app makes no call.
        guard push.route.kind != .alert, push.kept != .aDay else { return }
        let delay = apnsDraws.percent(85) ? apnsDraws.within(50...1_200) : apnsDraws.within(1_200...8_000)
        after(delay, .pushDelivered(device: device.index, payload: push.payload))
    }

    private func report(_ result: PushResult, _ push: OutgoingPush, _ run: Int) {
        let delay = apnsDraws.within(5...200)
        guard let owner else { return after(delay, .pushResult(run: run, push.id, result)) }
        after(delay, owner, .pushResult(push.id, result, run: run))
    }

    func pushResult(_ run: Int, _ id: PushID, _ result: PushResult) {
        guard run == self.run, switchboard != nil else { return }
        log("APNs ~ server: push \(id.rawValue) \(result)")
        checker.pushResulted(id, result)
        serve(.pushed(id, result), repeatable: apnsDraws.percent(5))
    }

    func pushDelivered(_ payload: [UInt8], to device: SimulatedDevice) {
        // A device without network gets no push: the push expires immediately, so APNs does not store it.
        guard now >= device.offlineUntil else { return }
        log("APNs ~ \(device.id.text): push \(Ladder.text(payload, from: 0))")
        mix(payload)
        if device.power != .foreground { launch(device) }
        passToCore(device, .push(payload))
    }
}
