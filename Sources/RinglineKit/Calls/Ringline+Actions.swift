public import CallClient
public import CallCore
import Foundation

/// What the user does on the app's screens.
///
/// The actions that the system shows as well go through the system, which hands them back as its own: CallKit must know of
/// each call, or the app gets no audio session.
extension Ringline {
    /// A call that waits until the STUN and TURN servers are known.
    struct DelayedStart {
        var call: CallClient.StartCall
        var until: Moment
    }

    /// For how long a call waits for the STUN and TURN servers.
    static let iceServersTimeout = Moment.Duration.seconds(2)

    /// Calls a user.
    ///
    /// - Returns: the UUID of the call. If the call is not possible, ``RinglineEvent/refused(_:_:)`` says why.
    @discardableResult
    public func startCall(to peer: UserID, hasVideo: Bool) -> CallUUID? {
        guard let call = CallUUID(UUID().uuidString) else { return nil }
        ports.system.request(.start(call, to: peer, hasVideo: hasVideo))
        return call
    }

    /// Makes a call that a link, Siri or the list of recent calls asks for.
    @discardableResult
    public func startCall(_ request: DialRequest) -> CallUUID? {
        startCall(to: request.to, hasVideo: request.hasVideo)
    }

    /// Answers an incoming call.
    public func answer(_ call: CallUUID) { ports.system.request(.answer(call)) }

    /// Ends, declines or cancels a call; the core finds the reason that fits.
    public func end(_ call: CallUUID) { ports.system.request(.end(call)) }

    /// Puts a call on hold on this side, or resumes it.
    public func setHeld(_ call: CallUUID, _ isHeld: Bool) { ports.system.request(.setHeld(call, isHeld)) }

    /// Switches the microphone off (`true`) or on.
    public func setMuted(_ call: CallUUID, _ isMuted: Bool) { ports.system.request(.setMuted(call, isMuted)) }

    /// Switches the camera off (`true`) or on.
    ///
    /// ``addVideo(_:)`` adds pictures to a call without them.
    public func setVideoMuted(_ call: CallUUID, _ isMuted: Bool) { take(.setMuted(call, video: isMuted)) }

    /// Enters digits: `0–9 * # A–D` and `,` for a pause; at most 128.
    public func playDTMF(_ call: CallUUID, _ digits: String) { ports.system.request(.playDTMF(call, digits)) }

    /// Sends data of your own to the peer's app: one JSON value as text, at most 16 KiB.
    public func sendInfo(_ call: CallUUID, _ json: String) { take(.sendInfo(call, json)) }

    /// Adds pictures to a call.
    public func addVideo(_ call: CallUUID) { take(.renegotiate(call, hasVideo: true)) }

    /// The network's path changed (`NWPathMonitor`): the connection is made anew, and so are the paths of media.
    public func pathChanged() {
        reconnect(.pathChanged)
        for call in calls where call.isAnswered { take(.renegotiate(call.uuid, restartsICE: true)) }
    }

    /// APNs gave the app a token for notifications, in hexadecimal digits, or there is none any more (`nil`).
    ///
    /// The server tells of missed calls by these notifications. The token for calls goes another way, through the system.
    public func setAlertToken(_ token: String?) { register(.token(.alert, token)) }

    /// Ends all calls, and has the server forget this device, so that it rings no more for this user.
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
        // From now on the system itself reports the pushes that are still on their way, and ends those calls at once.
        ports.system.events = nil
        isLoggedOut = true
        register(.loggedOut)
        settle()
    }

    func tellLoggedOut() {
        guard !isToldLoggedOut, registration.isSettled, !core.wantsConnection else { return }
        isToldLoggedOut = true
        tell(.loggedOut)
    }

    // MARK: The start of a call

    /// Starts a call, as soon as the STUN and TURN servers are known: an app that was opened by the list of recent calls has
    /// no connection yet, and a peer connection that is made without them gathers no candidates of a TURN server.
    func start(_ call: CallUUID, to peer: UserID, hasVideo: Bool) {
        // The callId is random, so that nobody can guess it.
        guard let callID = CallID(UUID().uuidString.lowercased()) else { return }
        let wish = CallClient.StartCall(uuid: call, callID: callID, to: peer, hasVideo: hasVideo)
        guard iceServers.isEmpty, !isConnected else { return take(.startCall(wish)) }
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
            // The system has been told that the call has begun, so that it is too late to fail the user's action.
            let isLive = calls.contains { $0.uuid == start.call.uuid }
            if !isLive { ports.system.reportEnded(start.call.uuid, .failed) }
        }
    }

    /// Forgets a call that has not begun yet; returns whether there was one.
    func withdrawStart(_ call: CallUUID) -> Bool {
        let count = delayedStarts.count
        delayedStarts.removeAll { $0.call.uuid == call }
        guard delayedStarts.count < count else { return false }
        settle()
        return true
    }
}
