public import CallClient

/// A port: makes and takes descriptions and candidates, and sends and plays audio and video, with WebRTC for example.
///
/// The engine has one peer connection for each call. It makes the connection when a function first names the call, and
/// releases it at ``close(_:)``. The page <doc:AWebRTCEngine> has a whole engine. Every result is an event, and may come at any
/// time after the function that asked for it has returned. A round is the number of a description that the kit has asked for.
@MainActor
public protocol MediaEngine: AnyObject {
    /// Takes the engine's events; the kit sets it once, before it calls any function.
    var events: (@MainActor @Sendable (MediaEvent) -> Void)? { get set }

    /// Use these STUN and TURN servers from now on, also for calls that exist.
    ///
    /// This comes with each new connection, and on a connection that stays open each time before the TURN credentials expire.
    func use(_ servers: [ICEServer])
    /// Make an offer, set it as the local description, and report it with this round.
    func makeOffer(_ call: CallUUID, round: UInt32, hasVideo: Bool, restartsICE: Bool)
    /// Make an answer to the offer that was set last, set it as the local description, and report it with this round.
    func makeAnswer(_ call: CallUUID, round: UInt32)
    /// Set the peer's description, SDP as text; an offer replaces an earlier offer that is not answered yet.
    func setRemoteDescription(_ call: CallUUID, _ kind: CallClient.DescriptionKind, sdp: String)
    /// Add a candidate of the peer, one JSON object as text; `nil` = the end of candidates.
    func addRemoteCandidate(_ call: CallUUID, _ candidate: String?)
    /// Withdraw the offer that was made or is being made.
    func rollback(_ call: CallUUID)
    /// Let audio flow (`true`), or stop it. It is `true` only while the audio session is active.
    func setAudio(_ call: CallUUID, isOn: Bool)
    /// Send and play nothing while held (`true`), or resume.
    func setHeld(_ call: CallUUID, _ isHeld: Bool)
    /// Switch the microphone and the camera; `true` = muted, `nil` = unchanged.
    func setMuted(_ call: CallUUID, audio: Bool?, video: Bool?)
    /// Release everything that belongs to the call.
    func close(_ call: CallUUID)
}

/// An event of the media engine.
public enum MediaEvent: Equatable, Sendable {
    /// The engine has made and set a description.
    case description(CallUUID, round: UInt32, CallClient.DescriptionKind, sdp: String)
    /// The engine gathered a candidate, one JSON object as text; `nil` = the end of candidates.
    case candidate(CallUUID, round: UInt32, String?)
    /// Media flows.
    case connected(CallUUID)
    /// Media no longer flows, and a new exchange of candidates may help (`RTCIceConnectionState.failed`).
    case interrupted(CallUUID)
    /// The description of this round could not be made, or the peer's answer to it could not be set; the engine has
    /// rolled back to the previous descriptions, and the call goes on with them.
    ///
    /// If the engine refuses an offer of the peer, the round is that of the answer that the kit asks for next. Only for a call in
    /// which an exchange has succeeded; otherwise the engine reports ``failed(_:)``.
    case refused(CallUUID, round: UInt32)
    /// The engine cannot go on with the call, which ends.
    case failed(CallUUID)
}

/// A STUN or TURN server, as `RTCIceServer` takes it (protocol, section 5.8).
public struct ICEServer: Equatable, Sendable, Codable {
    /// The addresses of the server, such as `turn:turn.example.com:3478?transport=udp`.
    public var urls: [String]
    /// The user name; `nil` for a STUN server.
    public var username: String?
    /// The password; `nil` for a STUN server.
    public var credential: String?

    /// Creates a server from its parts.
    public init(urls: [String], username: String? = nil, credential: String? = nil) {
        self.urls = urls
        self.username = username
        self.credential = credential
    }
}
