import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// Simulates Apple's push service: its response to a push is independent of the push's delivery to a device.
extension World {
    func ordered(_ order: PushOrder) {
        statistics.pushes += 1
        log(
            "server ~ APNs: \(order.kind.rawValue) push \(order.id.rawValue) for \(order.token), \(order.environment.rawValue)"
        )
        checker.ordered(order, at: now)
        after(apple.within(5...60), .pushArrives(run: run, order))
    }

    /// Returns the device that has, or had, a push token.
    private func owner(of token: String) -> SimulatedDevice? {
        // An alert token is the VoIP token with an `a` in front.
        let token = token.hasPrefix("a") ? String(token.dropFirst()) : token
        return devices.first { $0.token == token || $0.oldTokens.contains { $0.token == token } }
    }

    func pushArrives(_ order: PushOrder, _ run: Int) {
        // The push is not on the wire yet: it can still be cancelled, and it is lost if the server goes down.
        guard run == self.run, switchboard != nil else { return }
        if checker.isCancelled(order.id) {
            report(.cancelled, order, run)
            return
        }
        checker.attempted(order.id)
        guard let device = owner(of: order.token) else {
            report(.answered(status: 400, reason: "BadDeviceToken", timestamp: nil), order, run)
            return
        }
        guard device.environment == order.environment else {
            report(.answered(status: 400, reason: "BadDeviceToken", timestamp: nil), order, run)
            return
        }
        if let old = device.oldTokens.first(where: { $0.token == order.token }) {
            report(
                .answered(status: 410, reason: "Unregistered", timestamp: Moment(milliseconds: old.until)),
                order,
                run
            )
            return
        }
        if faults.contains(.pushes), !isHealed, apple.percent(30) {
            misbehave(order, device, run)
            return
        }
        report(.answered(status: 200, reason: nil, timestamp: nil), order, run)
        deliver(order, to: device)
    }

    private func misbehave(_ order: PushOrder, _ device: SimulatedDevice, _ run: Int) {
        switch apple.below(9) {
        case 0: report(.answered(status: 429, reason: "TooManyRequests", timestamp: nil), order, run)
        case 1: report(.answered(status: 500, reason: "InternalServerError", timestamp: nil), order, run)
        case 2: report(.answered(status: 503, reason: "ServiceUnavailable", timestamp: nil), order, run)
        case 3: report(.answered(status: 400, reason: "TopicDisallowed", timestamp: nil), order, run)
        case 4: report(.unreachable("the connection was lost"), order, run)
        case 5:
            // The push is taken, but the response is lost.
            report(.unreachable("no answer"), order, run)
            deliver(order, to: device)
        case 6:
            report(.answered(status: 200, reason: nil, timestamp: nil), order, run)
            deliver(order, to: device)
            deliver(order, to: device)
        case 7:
            report(.answered(status: 200, reason: nil, timestamp: nil), order, run)
            let late = max(0, order.giveUpAt.milliseconds - moment.milliseconds) + apple.within(1_000...60_000)
            after(late, .pushDelivered(device: device.index, payload: order.payload))
        default:
            // The push is taken, and never delivered.
            report(.answered(status: 200, reason: nil, timestamp: nil), order, run)
        }
    }

    private func deliver(_ order: PushOrder, to device: SimulatedDevice) {
        guard order.kind == .voip else { return }
        let delay = apple.percent(85) ? apple.within(50...1_200) : apple.within(1_200...8_000)
        after(delay, .pushDelivered(device: device.index, payload: order.payload))
    }

    private func report(_ result: PushResult, _ order: PushOrder, _ run: Int) {
        after(apple.within(5...200), .pushResult(run: run, order.id, result))
    }

    func pushResult(_ run: Int, _ id: PushID, _ result: PushResult) {
        guard run == self.run, switchboard != nil else { return }
        log("APNs ~ server: push \(id.rawValue) \(result)")
        checker.resulted(id, result)
        serve(.pushed(id, result), repeatable: apple.percent(5))
    }

    func pushDelivered(_ payload: [UInt8], to device: SimulatedDevice) {
        // APNs does not store a push that expires immediately.
        guard now >= device.offlineUntil else { return }
        log("APNs ~ \(device.id.text): push \(Ladder.text(payload, from: 0))")
        mix(payload)
        if device.power != .foreground { launch(device) }
        tell(device, .push(payload))
    }
}
