public import CallCore

extension CallClient {
    /// An event that concerns this device; the cases are grouped by source.
    public enum Input: Equatable, Sendable {
        // From the app and the system (CallKit's actions).
        /// The user starts a call.
        case startCall(StartCall)
        /// The system does not show the call of an ``Output/reportIncoming(_:_:)``: `reportNewIncomingCall` returned an error.
        ///
        /// If the call rings, it ends on this device only: the user's other devices go on ringing, and the caller is not told.
        case reportFailed(CallUUID, Silence)
        /// The system shows the call of an ``Output/reportIncoming(_:_:)``.
        ///
        /// Only needed with ``Configuration/awaitsReports``.
        case reportSucceeded(CallUUID)
        /// The user answers a call.
        case answer(CallUUID)
        /// The system has given up waiting for the answer of this call (`provider(_:timedOutPerforming:)`).
        ///
        /// The system has removed its screen of the call, so the call ends as `failed`, also if it is already connected.
        case answerTimedOut(CallUUID)
        /// The user ends, declines or cancels a call.
        ///
        /// A reason that does not fit the user's side of the call and the call's phase is replaced by the default
        /// reason for that side and phase.
        case end(CallUUID, EndReason? = nil)
        /// The user or the system puts the call on hold on this side (`true`), or resumes the call (`false`).
        case setHeld(CallUUID, Bool)
        /// The user switches the microphone or the camera off or on; `true` = muted, `nil` = unchanged.
        case setMuted(CallUUID, audio: Bool? = nil, video: Bool? = nil)
        /// The user enters DTMF digits.
        case playDTMF(CallUUID, String)
        /// The app sends app-specific data to the peer: one JSON value as text.
        case sendInfo(CallUUID, String)
        /// The user confirms a scheduled call, while it rings or after the answer.
        ///
        /// The server then ends the call as `confirmed`, and does not ring again.
        case confirm(CallUUID)
        /// The media must be described again: video was added, or the network changed (`restartsICE`).
        ///
        /// A scheduled call has no media: the input is refused as ``Refusal/notPossible``.
        case renegotiate(CallUUID, hasVideo: Bool? = nil, restartsICE: Bool = false)
        /// The system activated the audio session.
        case audioActivated
        /// The system deactivated the audio session.
        case audioDeactivated
        /// The system has forgotten all calls (`providerDidReset`).
        case providerReset

        // From the media engine.
        /// The media engine has made and set the description that ``Output/makeOffer(_:round:hasVideo:restartsICE:)``
        /// or ``Output/makeAnswer(_:round:)`` asked for.
        case localDescription(CallUUID, round: UInt32, DescriptionKind, sdp: String)
        /// The engine gathered a candidate for the description of this round: one JSON object as text; `nil` = the end
        /// of candidates.
        case localCandidate(CallUUID, round: UInt32, String?)
        /// Media flows.
        case mediaConnected(CallUUID)
        /// The media connection failed for good.
        case mediaFailed(CallUUID)
        /// The description of this round could not be made, or the peer's answer to it could not be set.
        ///
        /// The engine has rolled back to the previous descriptions, by which media may still flow, so an answered call
        /// goes on. Without previous descriptions the engine hands in ``mediaFailed(_:)``. If it refuses the peer's
        /// offer, the round is that of ``Output/makeAnswer(_:round:)``.
        case negotiationFailed(CallUUID, round: UInt32)

        // From the server.
        /// A connection is open and the server has sent `welcome`.
        case connectionOpened
        /// The connection is closed.
        case connectionClosed
        /// A frame arrived; see ``ServerMessage/init(_:)``.
        case received(ServerMessage)
        /// A request for a call's log succeeded or failed; see ``FetchedCall/reply(status:body:)``.
        case fetched(FetchNumber, Result<FetchedCall, RequestFailure>)
        /// A signal that was sent by REST was accepted or refused, or got no response; see
        /// ``Ack/reply(status:body:)``.
        case posted(SignalID, Result<Ack, RequestFailure>)
        /// The app has a fresh token.
        case tokenRenewed
        /// The token has expired.
        case tokenExpired

        // From APNs.
        /// A VoIP push arrived, whatever it contains.
        ///
        /// Hand the push in from PushKit's delegate method and carry out the outputs there: the outputs contain the
        /// report to CallKit that iOS demands.
        case pushed([String: PushValue])

        // From the clock.
        /// The moment of ``CallClient/deadline`` has come.
        case deadlineReached
    }

    /// A call that the user wants to make.
    public struct StartCall: Equatable, Sendable {
        /// The UUID by which the system identifies the call on this device, as in `CXStartCallAction`.
        public var uuid: CallUUID
        /// The callId; a random UUID is best.
        public var callID: CallID
        /// The user to call.
        public var to: UserID
        /// Whether the call has video.
        public var hasVideo: Bool

        /// Creates a call from its parts.
        public init(uuid: CallUUID, callID: CallID, to: UserID, hasVideo: Bool) {
            self.uuid = uuid
            self.callID = callID
            self.to = to
            self.hasVideo = hasVideo
        }
    }

    /// The role of a description in an offer/answer exchange.
    public enum DescriptionKind: String, Equatable, Sendable {
        /// The description that one side proposes.
        case offer
        /// The description that accepts an offer.
        case answer
    }
}

extension CallClient.Input {
    /// Whether a connection that the core asks for because of this input should not wait for the end of a pause: the
    /// user makes, answers or confirms a call, or a push arrived (``Reconnection``).
    public var isUrgent: Bool {
        switch self {
        case .startCall, .answer, .confirm, .pushed: true
        case .reportFailed, .reportSucceeded, .answerTimedOut, .end, .setHeld, .setMuted, .playDTMF, .sendInfo,
            .renegotiate, .audioActivated,
            .audioDeactivated, .providerReset, .localDescription, .localCandidate, .mediaConnected, .mediaFailed,
            .negotiationFailed, .connectionOpened, .connectionClosed, .received, .fetched, .posted, .tokenRenewed,
            .tokenExpired,
            .deadlineReached:
            false
        }
    }
}

/// Why a request failed.
public enum RequestFailure: Error, Equatable, Sendable {
    /// No response arrived, or a malformed one.
    case unreachable
    /// The server refused the request with this code.
    ///
    /// This version of the library may not know the code. If the response contains no code, the code is the first one
    /// in the protocol's list that has the HTTP status of the response (protocol, section 12).
    case refused(code: String)
}
