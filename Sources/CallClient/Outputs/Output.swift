public import CallCore

extension CallClient {
    /// What is to be done, in order.
    public enum Output: Equatable, Sendable {
        // To the system.
        /// A call comes in: once per UUID.
        case reportIncoming(CallUUID, Caller)
        /// A push came for a call that is there already: `reportNewIncomingCall` with its UUID, which rings nothing
        /// again and satisfies PushKit.
        case reportRepeated(CallUUID, Caller)
        /// The other side, or the user, answered; media is being set up.
        case reportConnecting(CallUUID)
        /// Media flows; the action that answered can be fulfilled.
        case reportConnected(CallUUID)
        /// The call is over, and not by this device's user.
        case reportEnded(CallUUID, ReportedEnd)
        /// What is shown of the caller has changed.
        case update(CallUUID, Caller)
        /// What was asked for cannot be done: fail the action.
        case refused(CallUUID, Refusal)

        // To the app.
        /// A device of the callee alerts its user: play the ringback tone.
        case peerRinging(CallUUID)
        /// The other side holds, mutes, or stops doing so: all it has said so far.
        case peerMedia(CallUUID, MediaUpdate)
        /// The other side pressed digits.
        case receivedDTMF(CallUUID, String)
        /// The other side's app has something to say: one JSON value as text.
        case receivedInfo(CallUUID, String)

        // To the media engine.
        /// Make an offer, set it, and hand it in as ``Input/localDescription(_:round:_:sdp:)`` with that round.
        case makeOffer(CallUUID, round: UInt32, hasVideo: Bool, restartsICE: Bool)
        /// Make an answer to the offer that was set last, set it, and hand it in.
        case makeAnswer(CallUUID, round: UInt32)
        /// Set the other side's description; for an offer over one not answered yet, in its place.
        case setRemoteDescription(CallUUID, DescriptionKind, sdp: String)
        /// Add a candidate of the other side, one JSON object as text; `nil` = there are no more.
        case addRemoteCandidate(CallUUID, String?)
        /// Withdraw the offer that was made or is being made.
        case rollback(CallUUID)
        /// Sound may flow.
        case startAudio(CallUUID)
        /// Sound must stop.
        case stopAudio(CallUUID)
        /// Send and play nothing while held.
        case holdMedia(CallUUID, Bool)
        /// Switch microphone and camera; `nil` = as before.
        case muteMedia(CallUUID, audio: Bool?, video: Bool?)
        /// The call is over: let go of all it had.
        case closeMedia(CallUUID)

        // To the transports.
        /// Send by the socket.
        case send(OutgoingSignal)
        /// Send by `POST /api/calls/signal`; hand the outcome in as ``Input/posted(_:_:)``.
        case post(OutgoingSignal, Authorization)
        /// `GET /api/calls/signal/{callId}?peer=…`, for a name may be in use with several people; hand the outcome in as ``Input/fetched(_:_:)``.
        case fetch(FetchNumber, CallID, peer: UserID, since: Cursor?, Authorization)
        /// A socket is wanted: open one, unless one is being opened.
        case connect
        /// A fresh token is wanted; then ``Input/tokenRenewed``.
        case renewToken
    }

    /// Who calls, as the system shows it.
    public struct Caller: Equatable, Sendable {
        /// The caller's user id; `unknown` when a broken push does not say.
        public var handle: String
        /// The caller's name.
        public var name: String?
        /// Whether with video.
        public var hasVideo: Bool

        /// A caller of all its parts.
        public init(handle: String, name: String?, hasVideo: Bool) {
            self.handle = handle
            self.name = name
            self.hasVideo = hasVideo
        }
    }

    /// Why the user's wish is not done.
    public enum Refusal: Equatable, Sendable {
        /// There is no such call, or it is over.
        case unknownCall
        /// There are as many calls as there may be.
        case tooManyCalls
        /// The UUID, or the callId with this peer, is in use.
        case inUse
        /// The peer is ringing this device: that call was answered instead.
        case answeredInstead(CallUUID)
        /// A call needs two users.
        case callsOneself
        /// The digits or the JSON text are not of the form, or the call is not answered, or too much waits to be sent.
        case notPossible
    }

    /// With what a request shows who asks.
    public enum Authorization: Equatable, Sendable {
        /// `Authorization: Bearer <the user's token>`.
        case token
        /// `Authorization: Ring <act>`: the capability that came with the push, because the token has expired.
        case capability(String)
    }

    /// A place in a call's log.
    public struct Cursor: Equatable, Sendable {
        /// The epoch.
        public var epoch: UInt32
        /// The newest number that was applied.
        public var seq: UInt64

        /// A place in a log.
        public init(epoch: UInt32, seq: UInt64) {
            self.epoch = epoch
            self.seq = seq
        }
    }
}

/// How the end of a call is reported to the system (`CXCallEndedReason`).
public enum ReportedEnd: String, Sendable, CaseIterable {
    /// Media, a device or a push failed.
    case failed
    /// The other side ended it.
    case remoteEnded
    /// Nobody answered.
    case unanswered
    /// Another device of this user answered.
    case answeredElsewhere
    /// Another device of this user declined.
    case declinedElsewhere

    /// How a reason is reported (protocol, section 4).
    ///
    /// A lost glare is not reported where the winner goes on in the same call; where it cannot, the other side ended it.
    public init(_ reason: EndReason) {
        self =
            switch reason {
            case .hangup, .cancelled, .declined, .busy, .glare, .replaced: .remoteEnded
            case .unanswered: .unanswered
            case .answeredElsewhere: .answeredElsewhere
            case .declinedElsewhere: .declinedElsewhere
            case .failed, .disconnected: .failed
            }
    }
}
