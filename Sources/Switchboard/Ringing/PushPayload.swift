import CallCore
import CallPorts
import CallWire

/// The payloads of pushes (protocol, section 6).
enum PushPayload {
    /// The largest VoIP payload that APNs takes, in bytes ("Generating a remote notification", Apple).
    static let voipBytes = 5_120

    /// Returns the payload for an incoming call.
    ///
    /// The offer's SDP is included if it fits, so that the woken app need not fetch it. A displayed name that does not
    /// fit is cut.
    static func incoming(
        _ call: Call,
        to device: DeviceRecord,
        capabilities: any CapabilityIssuer,
        at now: Moment
    ) -> [UInt8] {
        let capability = capabilities.capability(
            call: call.key.id,
            epoch: call.epoch,
            user: device.user,
            peer: call.caller,
            device: device.id,
            until: call.session.ringUntil + .seconds(60)
        )
        let full = write(call, displayName: call.displayName, capability: capability, sdp: offer(of: call), at: now)
        if full.count <= voipBytes { return full }
        var name = call.displayName
        while true {
            let payload = write(call, displayName: name, capability: capability, sdp: nil, at: now)
            guard payload.count > voipBytes, var shorter = name, !shorter.isEmpty else { return payload }
            // The payload contains the name twice.
            var excess = payload.count - voipBytes
            while excess > 0, let last = shorter.popLast() { excess -= 2 * last.utf8.count }
            name = shorter
        }
    }

    /// Returns the payload of an alert push for an incoming call, for a device on which iOS seems to withhold VoIP
    /// pushes.
    static func incomingAlert(_ call: Call, at now: Moment) -> [UInt8] {
        let ring = NoticePayload.Ring(
            room: call.room,
            hasVideo: call.session.hasVideo,
            uuid: call.uuid,
            ringUntil: call.session.ringUntil
        )
        return NoticePayload.incoming(notice(of: call), ring, at: now)
    }

    /// Returns the payload of the alert push for a missed call.
    static func missed(_ call: Call) -> [UInt8] { NoticePayload.missed(notice(of: call)) }

    private static func notice(of call: Call) -> NoticePayload.Call {
        NoticePayload.Call(
            id: call.key.id,
            epoch: call.epoch,
            caller: call.caller,
            name: call.displayName
        )
    }

    private static func write(
        _ call: Call,
        displayName: String?,
        capability: String,
        sdp: ArraySlice<UInt8>?,
        at now: Moment
    ) -> [UInt8] {
        IncomingCallPayload(
            callID: call.key.id.text,
            epoch: call.epoch,
            caller: call.caller.text,
            name: displayName ?? call.caller.text,
            room: call.room,
            hasVideo: call.session.hasVideo,
            uuid: call.uuid,
            ringUntil: call.session.ringUntil,
            capability: capability,
            offer: sdp
        ).bytes(at: now)
    }

    /// Returns the SDP of the caller's newest offer, as the relayed JSON object contains it; `nil` = there is none.
    private static func offer(of call: Call) -> ArraySlice<UInt8>? {
        for (index, entry) in call.session.log.enumerated().reversed() {
            guard case .signal(.offer, .caller, _, _, _) = entry.content else { continue }
            return RelayedObject(call.frames[index])?.value(of: .sdp)
        }
        return nil
    }
}
