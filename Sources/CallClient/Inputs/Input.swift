public import CallCore

extension CallClient {
    /// What can happen to a device, by who causes it.
    public enum Input: Equatable, Sendable {
        // From the app and the system (CallKit's actions).
        /// Call somebody.
        case startCall(StartCall)
        /// The user answers.
        case answer(CallUUID)
        /// The user ends, declines or cancels; a reason that does not fit becomes the default for it.
        case end(CallUUID, EndReason? = nil)
        /// The user or the system holds this side of the call, or no longer.
        case setHeld(CallUUID, Bool)
        /// The microphone or the camera is switched; `nil` = as before.
        case setMuted(CallUUID, audio: Bool? = nil, video: Bool? = nil)
        /// Digits are pressed.
        case playDTMF(CallUUID, String)
        /// Something of the app's own for the other side: one JSON value as text.
        case sendInfo(CallUUID, String)
        /// Describe the media anew: video was added, or the network changed (`restartsICE`).
        case renegotiate(CallUUID, hasVideo: Bool? = nil, restartsICE: Bool = false)
        /// The system handed over the audio session.
        case audioActivated
        /// The system took the audio session back.
        case audioDeactivated
        /// The system has forgotten all calls (`providerDidReset`).
        case providerReset

        // From the media engine.
        /// The description asked for by ``Output/makeOffer(_:round:hasVideo:restartsICE:)`` or
        /// ``Output/makeAnswer(_:round:)`` is made and set.
        case localDescription(CallUUID, round: UInt32, DescriptionKind, sdp: String)
        /// A candidate for the description of that round: one JSON object as text; `nil` = there are no more.
        case localCandidate(CallUUID, round: UInt32, String?)
        /// Media flows.
        case mediaConnected(CallUUID)
        /// Media cannot be made to flow.
        case mediaFailed(CallUUID)

        // From the server.
        /// A socket is open and the server has said `welcome`.
        case socketOpened
        /// There is no socket any more.
        case socketClosed
        /// A frame came; see ``Incoming/init(_:)``.
        case received(Incoming)
        /// A request for a call's log was answered, or failed.
        case fetched(FetchNumber, Result<FetchedCall, RequestFailure>)
        /// A signal that went out by REST was taken, or not.
        case posted(SignalID, Result<Acceptance, RequestFailure>)
        /// There is a fresh token.
        case tokenRenewed
        /// The token has run out.
        case tokenExpired

        // From APNs.
        /// A VoIP push, whatever it holds.
        case pushed([String: PushValue])

        // From time.
        /// The moment that ``CallClient/deadline`` named has come.
        case deadlineReached
    }

    /// A call that the user wants to make.
    public struct StartCall: Equatable, Sendable {
        /// What the system knows it by on this device: the UUID of `CXStartCallAction`.
        public var uuid: CallUUID
        /// Its name; a UUID is best.
        public var callID: CallID
        /// Whom to call.
        public var to: UserID
        /// Whether with video.
        public var hasVideo: Bool

        /// A call of all its parts.
        public init(uuid: CallUUID, callID: CallID, to: UserID, hasVideo: Bool) {
            self.uuid = uuid
            self.callID = callID
            self.to = to
            self.hasVideo = hasVideo
        }
    }

    /// Which half of an exchange a description is.
    public enum DescriptionKind: String, Equatable, Sendable {
        /// What is proposed.
        case offer
        /// What is agreed to.
        case answer
    }
}

/// Why a request was not answered as hoped.
public enum RequestFailure: Error, Equatable, Sendable {
    /// No answer came.
    case unreachable
    /// The server refused it with this code; `unknown` is a code of another version.
    case refused(code: String)
}
