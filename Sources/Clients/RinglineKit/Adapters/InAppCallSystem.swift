public import CallClient

/// A call system for apps that show calls on their own screens only.
///
/// It is for macOS, where there is no CallKit, and for tests. Each request takes effect at once, and the audio session counts
/// as active all the time. Use `CallKitSystem` of RinglineCallKit on iOS, except where an app may not use CallKit:
/// <doc:WithoutCallKit>.
@MainActor
public final class InAppCallSystem: CallSystem {
    /// Takes the system's events; the kit sets it.
    public var events: (@MainActor @Sendable (CallSystemEvent) -> Void)? {
        didSet { events?(.input(.audioActivated)) }
    }

    /// `false`: the app's own screens show every call.
    public let confirmsReports = false

    /// The call that was reported last, and has not ended.
    private var reported: CallUUID?

    /// Creates a system.
    public init() {}

    /// Takes the payload of a push that rang by a notification, such as `userInfo` of the notification that the user has tapped.
    ///
    /// - Parameter userInfo: the payload; one of another type than `call.incoming` is not handed on.
    /// - Returns: the call, which ``Ringline/answer(_:)`` and ``Ringline/end(_:)`` take; `nil` = it no longer rings.
    @discardableResult
    public func received(push userInfo: [AnyHashable: Any]) -> CallUUID? {
        guard userInfo["type"] as? String == "call.incoming" else { return nil }
        reported = nil
        events?(.input(.pushed(PushValue.values(of: userInfo))))
        return reported
    }

    /// Keeps the call for ``received(push:)``: ``RinglineEvent`` tells the screens of it.
    public func reportIncoming(_ call: CallUUID, _ peer: CallClient.DisplayedPeer) { reported = call }

    /// Does nothing.
    public func reportConnecting(_ call: CallUUID, isOutgoing: Bool) {}

    /// Does nothing.
    public func reportConnected(_ call: CallUUID, isOutgoing: Bool) {}

    /// Forgets the call.
    public func reportEnded(_ call: CallUUID, _ end: ReportedEnd) { if reported == call { reported = nil } }

    /// Does nothing.
    public func update(_ call: CallUUID, _ peer: CallClient.DisplayedPeer) {}

    /// Does nothing.
    public func refuse(_ call: CallUUID, _ refusal: CallClient.Refusal) {}

    /// Hands the action back as an event, at once.
    public func request(_ action: CallAction) {
        switch action {
        case .start(let call, let peer, let hasVideo, _): events?(.start(call, to: peer, hasVideo: hasVideo))
        case .answer(let call): events?(.input(.answer(call)))
        case .end(let call): events?(.input(.end(call)))
        case .setHeld(let call, let isHeld): events?(.input(.setHeld(call, isHeld)))
        case .setMuted(let call, let isMuted): events?(.input(.setMuted(call, audio: isMuted)))
        case .playDTMF(let call, let digits): events?(.input(.playDTMF(call, digits)))
        }
    }
}
