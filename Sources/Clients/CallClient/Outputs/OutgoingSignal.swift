public import CallCore
import CallWire
import JSON

/// A signal on its way to the server, with its content and its bytes for either transport.
///
/// Send ``frame`` over the connection, or ``body`` by REST:
///
/// ```swift
/// case .send(let signal): socket.send(signal.frame)
/// case .post(let signal, let authorization): post("/api/calls/signal", signal.body, authorization)
/// ```
public struct OutgoingSignal: Equatable, Sendable {
    /// The id of the signal; a resend carries the same id, by either transport.
    public var id: SignalID
    /// The callId.
    public var callID: CallID
    /// The call's epoch; `nil` only in the offer that begins a call.
    public var epoch: UInt32?
    /// The other user.
    public var peer: UserID
    /// The user that sends the signal.
    public var user: UserID
    /// The sending device, which a request must name.
    public var device: DeviceID
    /// The content, by the kind of signal.
    public var content: Content
    /// The address under which the callee's system shows this user; `nil` = the user id.
    ///
    /// Only offers have it.
    public var handle: String?
    /// The kind of address that ``handle``, or the user id, is.
    public var handleType = CallClient.HandleType.generic

    /// The content of a signal, by its kind.
    public enum Content: Equatable, Sendable {
        /// An offer, which begins a call or renegotiates its media; `round` numbers this device's descriptions in the
        /// call.
        case offer(sdp: String, round: UInt32, hasVideo: Bool, begin: FirstOfferFields?)
        /// This device alerts its user.
        case ringing
        /// This device was reached, but its system does not show the call.
        case silenced(Silence)
        /// The description that answers an offer.
        case answer(sdp: String, round: UInt32)
        /// The answer to a scheduled call, which has no description.
        case scheduledAnswer
        /// A candidate of the description of this round; `nil` = the end of candidates.
        case ice(String?, round: UInt32)
        /// Media flows.
        case connected
        /// A change of hold or mute.
        case update(MediaUpdate)
        /// DTMF digits.
        case dtmf(String)
        /// Data of the app itself: one JSON value as text.
        case info(String)
        /// The user confirms a scheduled call: an `info` with `confirm`.
        case confirm
        /// The end of the call.
        case end(EndReason)
    }

    /// The fields that only the first offer of a call carries.
    public struct FirstOfferFields: Equatable, Sendable {
        /// The caller's name.
        public var displayName: String?
        /// How long to ring.
        public var ringTimeout: Moment.Duration
    }

    /// The kind of the signal.
    public var kind: SignalKind {
        switch content {
        case .offer: .offer
        case .ringing, .silenced: .ringing
        case .answer, .scheduledAnswer: .answer
        case .ice: .ice
        case .connected: .connected
        case .update: .update
        case .dtmf: .dtmf
        case .info, .confirm: .info
        case .end: .end
        }
    }

    /// The text frame for the connection, as UTF-8 (protocol, section 3).
    public var frame: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("type")
        json.plain(kind.rawValue)
        writeEnvelope(into: &json)
        writeFields(into: &json)
        json.endObject()
        return json.bytes
    }

    /// The body for `POST /api/calls/signal`, as UTF-8 (protocol, section 5).
    public var body: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("action")
        json.plain(kind.rawValue)
        json.name("deviceId")
        json.plain(device.text)
        writeEnvelope(into: &json)
        json.name("data")
        json.beginObject()
        writeFields(into: &json)
        json.endObject()
        json.endObject()
        return json.bytes
    }

    private func writeEnvelope(into json: inout JSONWriter) {
        json.name("id")
        json.value(id.text)
        json.name("callId")
        json.plain(callID.text)
        if let epoch {
            json.name("epoch")
            json.value(epoch)
        }
        // A renegotiation has `room` instead of `to`, because an offer with `to` may begin a new call (protocol,
        // section 3.6).
        if case .offer(_, _, _, nil) = content {
            json.name("room")
            json.plain(Room.name(caller: user, callee: peer))
        } else {
            json.name("to")
            json.plain(peer.text)
        }
    }

    private func writeFields(into json: inout JSONWriter) {
        switch content {
        case .offer(let sdp, let round, let hasVideo, let firstOffer):
            json.write(sdp: sdp, round: round)
            json.name("hasVideo")
            json.value(hasVideo)
            writeCaller(named: firstOffer?.displayName, into: &json)
            if let firstOffer {
                // Without `begin`, the server would treat an offer as a renegotiation if its callId is in use, as it
                // may be after the app was killed in a call.
                json.name("begin")
                json.value(true)
                json.name("ringTimeout")
                json.value(max(5, min(120, firstOffer.ringTimeout.milliseconds / 1_000)))
            }
        case .answer(let sdp, let round): json.write(sdp: sdp, round: round)
        case .ice(let candidate, let round):
            json.name("candidate")
            if let candidate { json.raw(candidate.utf8) } else { json.null() }
            json.name("round")
            json.value(round)
        case .update(let media):
            if let hold = media.hold {
                json.name("hold")
                json.value(hold)
            }
            if let muted = media.audioMuted {
                json.name("audioMuted")
                json.value(muted)
            }
            if let muted = media.videoMuted {
                json.name("videoMuted")
                json.value(muted)
            }
        case .dtmf(let digits):
            json.name("digits")
            json.plain(digits)
        case .info(let data):
            json.name("data")
            json.raw(data.utf8)
        case .end(let reason):
            json.name("reason")
            json.plain(reason.rawValue)
        case .silenced(let why):
            json.name("shown")
            json.value(false)
            json.name("why")
            json.plain(why.rawValue)
        case .confirm:
            json.name("confirm")
            json.value(true)
        case .ringing, .scheduledAnswer, .connected: break
        }
    }

    /// Writes how the callee's device shows the caller.
    private func writeCaller(named name: String?, into json: inout JSONWriter) {
        if let handle {
            json.name("handle")
            json.value(handle)
        }
        if handleType != .generic {
            json.name("handleType")
            json.plain(handleType.rawValue)
        }
        if let name {
            json.name("displayName")
            json.value(name)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func write(sdp: String, round: UInt32) {
        name("sdp")
        value(sdp)
        name("round")
        value(round)
    }
}
