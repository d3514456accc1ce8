import CallClient
import CallCore
import JSON

/// Writes outputs of the client core in their JSON form.
struct OutputWriter {
    private var json = JSONWriter()
    /// Whether the input that caused the outputs is one for which a connection must not wait.
    private let isUrgent: Bool
    /// The scheduled calls of the core, after the input.
    private let scheduled: [CallClient.Call]

    /// Returns the outputs as one JSON array.
    static func text(of outputs: [CallClient.Output], calls: [CallClient.Call], isUrgent: Bool) -> [UInt8] {
        var writer = OutputWriter(isUrgent: isUrgent, scheduled: calls.filter { $0.isScheduled })
        writer.json.beginArray()
        for output in outputs { writer.write(output) }
        writer.json.endArray()
        return writer.json.bytes
    }

    private init(isUrgent: Bool, scheduled: [CallClient.Call]) {
        self.isUrgent = isUrgent
        self.scheduled = scheduled
    }

    private mutating func write(_ output: CallClient.Output) {
        json.beginObject()
        switch output {
        case .reportIncoming(let uuid, let peer): begin("reportIncoming", uuid, peer)
        case .reportRepeated(let uuid, let peer): begin("reportRepeated", uuid, peer)
        case .reportConnecting(let uuid): begin("reportConnecting", uuid)
        case .reportConnected(let uuid): begin("reportConnected", uuid)
        case .reportEnded(let uuid, let end):
            begin("reportEnded", uuid)
            json.member("reason", end.rawValue)
        case .update(let uuid, let peer): begin("update", uuid, peer)
        case .refused(let uuid, let refusal):
            begin("refused", uuid)
            write(refusal)
        case .peerRinging(let uuid): begin("peerRinging", uuid)
        case .delayed(let uuid, let code):
            begin("delayed", uuid)
            json.member("code", code)
        case .peerMedia(let uuid, let media):
            begin("peerMedia", uuid)
            json.member("held", media.hold)
            json.member("audio", media.audioMuted)
            json.member("video", media.videoMuted)
        case .receivedDTMF(let uuid, let digits):
            begin("receivedDTMF", uuid)
            json.member("digits", digits)
        case .receivedInfo(let uuid, let data):
            begin("receivedInfo", uuid)
            json.member("data", data)
        case .makeOffer, .makeAnswer, .setRemoteDescription, .addRemoteCandidate, .rollback, .startAudio, .stopAudio,
            .holdMedia, .muteMedia, .closeMedia:
            writeForEngine(output)
        case .send, .post, .fetch, .connect, .renewToken, .tokenOfAnotherUser: writeForTransport(output)
        }
        json.endObject()
    }

    private mutating func writeForEngine(_ output: CallClient.Output) {
        switch output {
        case .makeOffer(let uuid, let round, let hasVideo, let restartsICE):
            begin("makeOffer", uuid)
            json.member("round", round)
            json.member("hasVideo", hasVideo)
            json.member("restartsICE", restartsICE)
        case .makeAnswer(let uuid, let round):
            begin("makeAnswer", uuid)
            json.member("round", round)
        case .setRemoteDescription(let uuid, let kind, let sdp):
            begin("setRemoteDescription", uuid)
            json.member("kind", kind.rawValue)
            json.member("sdp", sdp)
        case .addRemoteCandidate(let uuid, let candidate):
            begin("addRemoteCandidate", uuid)
            json.name("candidate")
            if let candidate { json.value(candidate) } else { json.null() }
        case .rollback(let uuid): begin("rollback", uuid)
        case .startAudio(let uuid): begin("startAudio", uuid)
        case .stopAudio(let uuid): begin("stopAudio", uuid)
        case .holdMedia(let uuid, let isHeld):
            begin("holdMedia", uuid)
            json.member("held", isHeld)
        case .muteMedia(let uuid, let audio, let video):
            begin("muteMedia", uuid)
            json.member("audio", audio)
            json.member("video", video)
        case .closeMedia(let uuid): begin("closeMedia", uuid)
        default: break
        }
    }

    private mutating func writeForTransport(_ output: CallClient.Output) {
        switch output {
        case .send(let signal):
            begin("send")
            json.member("frame", String(decoding: signal.frame, as: UTF8.self))
        case .post(let signal, let authorization):
            begin("post")
            json.member("id", signal.id.text)
            json.member("body", String(decoding: signal.body, as: UTF8.self))
            write(authorization)
        case .fetch(let number, let callID, let peer, let since, let authorization):
            begin("fetch")
            json.member("number", number.rawValue)
            json.member("callId", callID.text)
            json.member("peer", peer.text)
            if let since {
                json.member("epoch", since.epoch)
                json.member("since", since.seq)
            }
            write(authorization)
        case .connect:
            begin("connect")
            json.member("urgent", isUrgent)
        case .renewToken: begin("renewToken")
        case .tokenOfAnotherUser(let user):
            begin("tokenOfAnotherUser")
            json.member("user", user.text)
        default: break
        }
    }

    private mutating func begin(_ name: String, _ uuid: CallUUID? = nil, _ peer: CallClient.DisplayedPeer? = nil) {
        json.name("out")
        json.plain(name)
        if let uuid {
            json.name("uuid")
            json.plain(uuid.text)
        }
        guard let uuid, let peer else { return }
        json.members(of: peer)
        if let call = scheduled.last(where: { $0.uuid == uuid }) { json.scheduleMembers(of: call) }
    }

    private mutating func write(_ refusal: CallClient.Refusal) {
        json.name("why")
        switch refusal {
        case .unknownCall: json.plain("unknownCall")
        case .tooManyCalls: json.plain("tooManyCalls")
        case .inUse: json.plain("inUse")
        case .answeredInstead(let uuid):
            json.plain("answeredInstead")
            json.member("instead", uuid.text)
        case .callsOneself: json.plain("callsOneself")
        case .notPossible: json.plain("notPossible")
        }
    }

    /// Writes the capability of a request; a request without one carries the user's token.
    private mutating func write(_ authorization: CallClient.Authorization) {
        if case .capability(let act) = authorization { json.member("act", act) }
    }
}

extension JSONWriter {
    mutating func member(_ name: String, _ text: String) {
        self.name(name)
        value(text)
    }

    mutating func member(_ name: String, _ number: some FixedWidthInteger) {
        self.name(name)
        value(number)
    }

    mutating func member(_ name: String, _ flag: Bool?) {
        guard let flag else { return }
        self.name(name)
        value(flag)
    }

    mutating func members(of peer: CallClient.DisplayedPeer) {
        member("handle", peer.handle)
        if peer.handleType != .generic { member("handleType", peer.handleType.rawValue) }
        if let name = peer.name { member("name", name) }
        member("hasVideo", peer.hasVideo)
    }

    mutating func scheduleMembers(of call: CallClient.Call) {
        member("scheduled", true)
        if let schedule = call.schedule { member("schedule", schedule.text) }
        if let data = call.data { member("data", data) }
    }
}
