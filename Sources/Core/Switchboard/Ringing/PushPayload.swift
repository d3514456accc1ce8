import CallCore
import CallPorts
import CallWire

/// The payloads of pushes (protocol, section 6).
enum PushPayload {
    /// Returns the payload for an incoming call.
    ///
    /// The offer's SDP is included if it fits, so that the woken app need not fetch it. A displayed name that does not
    /// fit is cut. `aliases`: additional keys that the device's app has asked for. `omitsOffer`: whether the SDP, or a
    /// schedule's data, is left out although it may fit.
    static func incoming(
        _ call: Call,
        to device: DeviceRecord,
        as kind: PushKind,
        capabilities: any CapabilityIssuer,
        aliases: PayloadAliases,
        omitsOffer: Bool = false,
        at now: Moment
    ) -> [UInt8] {
        let capability = capabilities.capability(
            call: call.key.id,
            epoch: call.epoch,
            user: device.user,
            peer: call.caller,
            device: device.id,
            until: call.session.ringUntil + SwitchboardLimits.capabilityGrace
        )
        var payload = payload(of: call, to: device, capability, aliases)
        payload.form = kind.form
        payload.sound = device.sound
        let offer = call.newestOffer()
        (payload.handle, payload.handleType) = offer?.handle ?? (nil, .generic)
        if !omitsOffer { payload.offer = offer?.value(of: .sdp) }
        if call.scheduled != nil {
            payload.isScheduled = true
            if !omitsOffer { payload.data = offer?.value(of: .data) }
        }
        return payload.fitted(at: now)
    }

    /// Returns the payload of the notice of a missed call.
    static func missed(_ call: Call, to device: DeviceRecord, as kind: PushKind) -> [UInt8] {
        NoticePayload.missed(notice(of: call, to: device), as: kind.form)
    }

    /// Returns the payload of the notice that follows the push for an incoming call.
    static func over(_ call: Call, _ reason: EndReason, to device: DeviceRecord, as kind: PushKind) -> [UInt8] {
        NoticePayload.over(notice(of: call, to: device), reason, as: kind.form)
    }

    /// Returns the collapse id of a call's alerts and Web Push messages, so that each replaces the one before.
    static func collapseID(of call: Call) -> String {
        UUIDv5.url("ringline:\(call.key.id.folded)/\(call.epoch)/\(call.caller.text)")
    }

    private static func notice(of call: Call, to device: DeviceRecord) -> NoticePayload.Call {
        NoticePayload.Call(
            id: call.key.id,
            epoch: call.epoch,
            caller: call.caller,
            name: call.displayName,
            isMutable: device.hasMutableAlerts
        )
    }

    private static func payload(
        of call: Call,
        to device: DeviceRecord,
        _ capability: String,
        _ aliases: PayloadAliases
    ) -> IncomingCallPayload {
        var payload = IncomingCallPayload(
            callID: call.key.id.text,
            epoch: call.epoch,
            caller: call.caller.text,
            name: call.displayName ?? call.caller.text,
            callee: device.user.text,
            room: call.room,
            hasVideo: call.session.hasVideo,
            uuid: call.uuid,
            ringUntil: call.session.ringUntil,
            capability: capability
        )
        payload.aliases = aliases
        return payload
    }
}

extension DeviceRecord {
    /// Whether the notification service extension of the device's app may change alerts.
    var hasMutableAlerts: Bool { payloadKeys.map { PayloadAliases(text: $0).isMutable } ?? false }
}
