public import CallClient
public import CallCore
import Foundation

/// The user's actions on the app's own screens.
///
/// An action that the system shows too goes to the system first, which then reports it as its own: CallKit must know of each
/// call, or the app gets no audio session.
extension Ringline {
    /// A call that waits for the addresses of the STUN and TURN servers.
    struct DelayedStart {
        var call: CallClient.StartCall
        var until: Moment
    }

    /// The longest time for which a call waits for the addresses of the STUN and TURN servers.
    static let iceServersTimeout = Moment.Duration.seconds(2)

    /// Calls a user.
    ///
    /// ```swift
    /// if let user = UserID("10") { ringline.startCall(to: user, hasVideo: false) }
    /// ```
    ///
    /// - Parameters:
    ///   - peer: the user to call.
    ///   - hasVideo: whether the call has video from the beginning.
    /// - Returns: the UUID of the call. If the call is not possible, ``RinglineEvent/refused(_:_:)`` says why.
    @discardableResult
    public func startCall(to peer: UserID, hasVideo: Bool) -> CallUUID? {
        guard let call = CallUUID(UUID().uuidString) else { return nil }
        let type = core.configuration.userIDType
        ports.system.request(.start(call, to: peer, hasVideo: hasVideo, handleType: type))
        return call
    }

    /// Makes a call that a link, Siri or the list of recent calls asks for; see ``startCall(to:hasVideo:)``.
    @discardableResult
    public func startCall(_ request: DialRequest) -> CallUUID? {
        startCall(to: request.to, hasVideo: request.hasVideo)
    }

    /// Answers an incoming call.
    public func answer(_ call: CallUUID) { ports.system.request(.answer(call)) }

    /// Ends, declines or cancels a call; the core finds the reason that fits.
    public func end(_ call: CallUUID) { ports.system.request(.end(call)) }

    /// Puts a call on hold on this side (`true`), or resumes it.
    public func setHeld(_ call: CallUUID, _ isHeld: Bool) { ports.system.request(.setHeld(call, isHeld)) }

    /// Switches the microphone off (`true`) or on.
    public func setMuted(_ call: CallUUID, _ isMuted: Bool) { ports.system.request(.setMuted(call, isMuted)) }

    /// Switches the camera off (`true`) or on.
    ///
    /// To add video to a call without it, use ``addVideo(_:)``.
    public func setVideoMuted(_ call: CallUUID, _ isMuted: Bool) { take(.setMuted(call, video: isMuted)) }

    /// Sends DTMF digits to the peer's app: at most 128 of `0` to `9`, `*`, `#`, `A` to `D`, and `,` for a pause.
    ///
    /// Other texts are refused as `notPossible` (``RinglineEvent/refused(_:_:)``).
    public func playDTMF(_ call: CallUUID, _ digits: String) { ports.system.request(.playDTMF(call, digits)) }

    /// Sends data of your own to the peer's app: one JSON value as text, at most 16 KiB.
    ///
    /// A malformed or longer text is refused as `notPossible` (``RinglineEvent/refused(_:_:)``).
    public func sendInfo(_ call: CallUUID, _ json: String) { take(.sendInfo(call, json)) }

    /// Confirms a scheduled call, while it rings or after the answer: the call ends as `confirmed`, and rings no more.
    ///
    /// The server ends it, so without a network it goes on until the server can be reached. An ordinary call cannot be
    /// confirmed: `notPossible` (``RinglineEvent/refused(_:_:)``).
    public func confirm(_ call: CallUUID) { take(.confirm(call)) }

    /// Adds video to an answered call.
    public func addVideo(_ call: CallUUID) { take(.renegotiate(call, hasVideo: true)) }

    /// Opens a new connection and restarts ICE, because the device's path to the network changed.
    ///
    /// Call it when `NWPathMonitor` reports another interface, or a network after none.
    public func pathChanged() {
        reconnect(.pathChanged)
        for call in calls where call.isAnswered && !call.isScheduled {
            take(.renegotiate(call.uuid, restartsICE: true))
        }
    }

    /// Hands in APNs' token for notifications, in hexadecimal digits; `nil` = the app has none any more.
    ///
    /// The server sends these notifications for missed calls and texts, and for calls if the device has no VoIP token.
    /// PushKit's token for calls comes from the ``CallSystem``.
    public func setAlertToken(_ token: String?) { register(.token(.alert, token)) }

    /// Ends all calls and removes this device from the server, so that it no longer rings for this user.
    ///
    /// Keep this object, and the user's token, until ``RinglineEvent/loggedOut`` comes.
    public func logOut() {
        guard !isLoggedOut else { return }
        let ending = delayedStarts.map(\.call.uuid) + calls.map(\.uuid)
        delayedStarts = []
        for call in ending {
            take(.end(call))
            ports.system.reportEnded(call, .remoteEnded)
        }
        // Pushes may still be on their way. From now on the system itself reports them, and ends those calls at once.
        ports.system.events = nil
        isLoggedOut = true
        register(.loggedOut)
        settle()
    }

    func emitLogout() {
        guard !hasEmittedLogout, registration.isSettled, !core.wantsConnection else { return }
        hasEmittedLogout = true
        emit(.loggedOut)
    }

    // MARK: The start of a call

    /// Starts a call as soon as the addresses of the STUN and TURN servers are known.
    ///
    /// An app that was opened by the list of recent calls has no connection yet. A peer connection that is made without those
    /// addresses gathers no candidates of a TURN server.
    func start(_ call: CallUUID, to peer: UserID, hasVideo: Bool) {
        // The callId is random, so that nobody can guess it.
        guard let callID = CallID(UUID().uuidString.lowercased()) else { return }
        let wish = CallClient.StartCall(uuid: call, callID: callID, to: peer, hasVideo: hasVideo)
        guard iceServers.isEmpty, !isConnected else { return take(.startCall(wish)) }
        isReplaced = false
        delayedStarts.append(DelayedStart(call: wish, until: ports.clock.now + Self.iceServersTimeout))
        connect(isUrgent: true)
        settle()
    }

    /// Starts the calls that have waited.
    func startDelayed() {
        let waited = delayedStarts
        delayedStarts = []
        for start in waited {
            take(.startCall(start.call))
            // The system already shows the call as begun: it is too late to fail the user's action.
            let isLive = calls.contains { $0.uuid == start.call.uuid }
            if !isLive { ports.system.reportEnded(start.call.uuid, .failed) }
        }
    }

    /// Drops a call that waits to begin; returns whether there was one.
    func cancelDelayedStart(_ call: CallUUID) -> Bool {
        let count = delayedStarts.count
        delayedStarts.removeAll { $0.call.uuid == call }
        guard delayedStarts.count < count else { return false }
        settle()
        return true
    }
}
