public import CallCore
import CallWire

/// A signal on its way to the server: what it says, and the bytes for either transport.
public struct OutgoingSignal: Equatable, Sendable {
    /// Its name; a resend carries the same, by whichever transport.
    public var id: SignalID
    /// The call.
    public var callID: CallID
    /// The epoch; `nil` only in the offer that begins a call.
    public var epoch: UInt32?
    /// The other side.
    public var peer: UserID
    /// Who it is that sends.
    public var user: UserID
    /// The sending device, which a request must name.
    public var device: DeviceID
    /// What it says.
    public var content: Content

    /// What a signal says.
    public enum Content: Equatable, Sendable {
        /// Begins a call, or describes its media anew; `round` numbers this device's descriptions in the call.
        case offer(sdp: String, round: UInt32, hasVideo: Bool, begin: Beginning?)
        /// This device alerts its user.
        case ringing
        /// The description in return.
        case answer(sdp: String, round: UInt32)
        /// A candidate of the description of that round; `nil` = there are no more.
        case ice(String?, round: UInt32)
        /// Media flows.
        case connected
        /// Hold and mute.
        case update(MediaUpdate)
        /// Digits.
        case dtmf(String)
        /// The app's own: one JSON value as text.
        case info(String)
        /// The end.
        case end(EndReason)
    }

    /// What only the first offer says.
    public struct Beginning: Equatable, Sendable {
        /// The caller's name.
        public var displayName: String?
        /// For how long to ring.
        public var ringFor: Moment.Span
    }

    /// Which kind it is.
    public var kind: SignalKind {
        switch content {
        case .offer: .offer
        case .ringing: .ringing
        case .answer: .answer
        case .ice: .ice
        case .connected: .connected
        case .update: .update
        case .dtmf: .dtmf
        case .info: .info
        case .end: .end
        }
    }

    /// The text frame for the socket (protocol, section 3), as UTF-8.
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

    /// The body for `POST /api/calls/signal` (protocol, section 5), as UTF-8.
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
        // A renegotiation names the room and not the callee: `to` is how apps begin a call (protocol, section 9).
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
        case .offer(let sdp, let round, let hasVideo, let beginning):
            json.write(sdp: sdp, round: round)
            json.name("hasVideo")
            json.value(hasVideo)
            if let name = beginning?.displayName {
                json.name("displayName")
                json.value(name)
            }
            if let beginning {
                // Under a name that is still in use an app that was killed begins anew all the same.
                json.name("begin")
                json.value(true)
                json.name("ringTimeout")
                json.value(max(5, min(120, beginning.ringFor.milliseconds / 1_000)))
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
        case .ringing, .connected: break
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
