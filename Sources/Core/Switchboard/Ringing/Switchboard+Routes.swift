import CallCore
import CallPorts

/// The routes by which a device can be rung or notified.
extension Switchboard {
    func environment(of device: DeviceRecord) -> APNsEnvironment {
        device.workingEnvironment ?? device.environment ?? policy.apnsEnvironment ?? .production
    }

    /// Returns the route of a notice to a device; `nil` = the device has none, or its service is not configured.
    func noticeRoute(to device: DeviceRecord) -> PushRoute? {
        guard let kind = device.noticePush, policy.canPush(by: kind) else { return nil }
        return device.route(for: kind, environment(of: device))
    }

    /// Returns the best route that rings a device, without the kinds of push that cannot; `nil` = there is none.
    func ringingRoute(of device: DeviceRecord, excluding kinds: Set<PushKind> = []) -> PushRoute? {
        device.ringingPush(excluding: kinds).flatMap { device.route(for: $0, environment(of: device)) }
    }

    /// Returns the route by which a device can be rung if a push of this kind cannot be sent; `nil` = there is none.
    func otherRoute(of device: DeviceRecord, than kind: PushKind, _ push: DevicePush) -> PushRoute? {
        // Most devices have one push token, and must not pay for sets.
        guard device.routes.entries.contains(where: { $0.kind != kind }) else { return nil }
        return ringingRoute(of: device, excluding: push.refusedKinds.union(push.unsentKinds).union([kind]))
    }

    /// Whether the callee's do-not-disturb silences a call: any call but one of the callee's own schedules.
    ///
    /// A user who sets a time and do-not-disturb wants to be woken at that time.
    func isSilencedByDoNotDisturb(_ call: Call) -> Bool {
        directory.hasDoNotDisturb(call.callee, at: turn.date)
            && call.scheduled.flatMap { directory.schedules[call.callee, $0.schedule] }?.isOwn != true
    }
}
