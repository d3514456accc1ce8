public import CallCore

extension CallClient {
    /// An action for the app to carry out; the outputs of one input must be carried out in order.
    public enum Output: Equatable, Sendable {
        // To the system.
        /// Report an incoming call (`reportNewIncomingCall`); this output comes once for each UUID.
        case reportIncoming(CallUUID, DisplayedPeer)
        /// Report a known call again, because a push came for it.
        ///
        /// `reportNewIncomingCall` with the UUID of a known call does not ring again, and satisfies PushKit.
        case reportRepeated(CallUUID, DisplayedPeer)
        /// Report that the peer or this user answered; the media connection is being set up.
        case reportConnecting(CallUUID)
        /// Report that media flows; the pending answer action can be fulfilled.
        case reportConnected(CallUUID)
        /// Report the end of a call that this device's user did not end.
        case reportEnded(CallUUID, ReportedEnd)
        /// Report that the displayed data of the peer changed, or that the data of a scheduled call arrived.
        case update(CallUUID, DisplayedPeer)
        /// Fail the user's action on this call: it is not possible.
        case refused(CallUUID, Refusal)

        // To the app.
        /// Play the ringback tone: a device of the callee alerts its user.
        case peerRinging(CallUUID)
        /// Show that the call waits: the server does not ring the peer now, for the reason of this code (`rate_limited`).
        ///
        /// The core sends the offer again after a pause. This output comes once for each call and code.
        case delayed(CallUUID, code: String)
        /// Show that the peer holds or mutes, or no longer does; the value combines all updates of the peer so far.
        case peerMedia(CallUUID, MediaUpdate)
        /// The peer entered DTMF digits.
        case receivedDTMF(CallUUID, String)
        /// The peer's app sent app-specific data: one JSON value as text.
        case receivedInfo(CallUUID, String)

        // To the media engine, which has no part in a scheduled call.
        /// Make an offer, set it, and hand it in as ``Input/localDescription(_:round:_:sdp:)`` with this round.
        case makeOffer(CallUUID, round: UInt32, hasVideo: Bool, restartsICE: Bool)
        /// Make an answer to the offer that was set last, set it, and hand it in as
        /// ``Input/localDescription(_:round:_:sdp:)``.
        case makeAnswer(CallUUID, round: UInt32)
        /// Set the peer's description; an offer replaces an earlier offer that is not answered yet.
        case setRemoteDescription(CallUUID, DescriptionKind, sdp: String)
        /// Add a candidate of the peer, one JSON object as text; `nil` = the end of candidates.
        case addRemoteCandidate(CallUUID, String?)
        /// Withdraw the offer that was made or is being made.
        case rollback(CallUUID)
        /// Let audio flow.
        case startAudio(CallUUID)
        /// Stop audio.
        case stopAudio(CallUUID)
        /// Send and play nothing while held (`true`), or resume (`false`).
        case holdMedia(CallUUID, Bool)
        /// Switch the microphone and the camera; `true` = muted, `nil` = unchanged.
        case muteMedia(CallUUID, audio: Bool?, video: Bool?)
        /// Release all media of the call, which has ended.
        case closeMedia(CallUUID)

        // To the transports.
        /// Send the signal's ``OutgoingSignal/frame`` over the connection.
        case send(OutgoingSignal)
        /// Send the signal's ``OutgoingSignal/body`` by `POST /api/calls/signal`; hand in the result as
        /// ``Input/posted(_:_:)``.
        case post(OutgoingSignal, Authorization)
        /// Fetch a call's log; hand in the result as ``Input/fetched(_:_:)``.
        ///
        /// The request is `GET /api/calls/signal/{callId}?peer=…`, with `since` and `epoch` if there is a cursor. The
        /// request names the peer because one callId may be in use with several users.
        case fetch(FetchNumber, CallID, peer: UserID, since: Cursor?, Authorization)
        /// A connection is wanted; hand ``Reconnection/Input/wanted(isUrgent:)`` to a ``Reconnection``, which decides when
        /// to open it.
        ///
        /// This output comes again each time that there is a reason for it, whether or not a connection is being opened.
        case connect
        /// Get a fresh token, then hand in ``Input/tokenRenewed``.
        case renewToken
        /// Close the connection and report an error: its token belongs to this user, not to the configured one.
        ///
        /// The token must not be used again: ``renewToken`` comes as well, as after a token that the server refused.
        case tokenOfAnotherUser(UserID)
    }

    /// The peer of a call, as the system displays it.
    ///
    /// The peer of an outgoing call is the callee.
    public struct DisplayedPeer: Equatable, Sendable {
        /// The push's `handle`, else the user id; `unknown` when a malformed push contains neither.
        public var handle: String
        /// The kind of address that ``handle`` is.
        public var handleType: HandleType
        /// The display name.
        public var name: String?
        /// Whether the call has video.
        public var hasVideo: Bool

        /// Creates a value from its parts.
        public init(handle: String, handleType: HandleType = .generic, name: String?, hasVideo: Bool) {
            self.handle = handle
            self.handleType = handleType
            self.name = name
            self.hasVideo = hasVideo
        }
    }

    /// Why an action of the user is not possible.
    public enum Refusal: Equatable, Sendable {
        /// There is no such call, or it has ended.
        ///
        /// For ``Input/renegotiate(_:hasVideo:restartsICE:)`` also: the call is incoming and not answered yet.
        case unknownCall
        /// There are as many calls as the configuration allows.
        case tooManyCalls
        /// The UUID is in use, or the callId is in use with this peer.
        case inUse
        /// The peer is already calling this device: the core answered that call instead.
        case answeredInstead(CallUUID)
        /// The user called their own id; a call needs two users.
        case callsOneself
        /// The digits or the JSON text are malformed, the call is not answered, or too many signals wait to be sent.
        ///
        /// For ``Input/answer(_:)``: the call is not an incoming one. For ``Input/confirm(_:)``: the call is not scheduled.
        /// Digits, data and renegotiations of a scheduled call, which has no peer, are not possible either.
        case notPossible
    }

    /// The authorisation of a request.
    public enum Authorization: Equatable, Sendable {
        /// `Authorization: Bearer <the user's token>`.
        case token
        /// `Authorization: Ring <act>`: the capability from the push, used because the token has expired.
        case capability(String)
    }

    /// A position in a call's log.
    public struct Cursor: Equatable, Sendable {
        /// The call's epoch.
        public var epoch: UInt32
        /// The number of the newest entry that was applied.
        public var seq: UInt64

        /// Creates a position from its parts.
        public init(epoch: UInt32, seq: UInt64) {
            self.epoch = epoch
            self.seq = seq
        }
    }
}

/// The reason with which the end of a call is reported to the system (`CXCallEndedReason`).
public enum ReportedEnd: String, Sendable, CaseIterable {
    /// Media, a device or a push failed.
    case failed
    /// The peer ended the call.
    case remoteEnded
    /// No device answered.
    case unanswered
    /// Another device of this user answered.
    case answeredElsewhere
    /// Another device of this user declined.
    case declinedElsewhere

    /// Maps an end reason to the reason that is reported to the system (protocol, section 4).
    ///
    /// A call that lost a glare is not reported as ended if the call that won takes over its UUID. Otherwise the call
    /// that lost is reported as ended by the peer.
    public init(_ reason: EndReason) {
        self =
            switch reason {
            case .hangup, .cancelled, .declined, .busy, .glare, .replaced, .confirmed: .remoteEnded
            case .unanswered, .missed, .givenUp: .unanswered
            case .answeredElsewhere: .answeredElsewhere
            case .declinedElsewhere: .declinedElsewhere
            case .failed, .disconnected: .failed
            }
    }
}
