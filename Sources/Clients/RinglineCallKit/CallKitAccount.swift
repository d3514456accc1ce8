#if canImport(CallKit) && !os(macOS)
public import CallClient
public import CallCore
public import RinglineKit

/// The call system of one account, in an app on which several users are signed in at a time.
///
/// iOS gives an app one `CXProvider` and one `PKPushRegistry`, so that all accounts share one ``CallKitSystem``. It hands each
/// push to the account that the push names (`toUserId`), and each action to the account of its call.
///
/// ```swift
/// let ports = Ringline.Ports(
///     media: engine, system: system.account(for: user, label: "Work"), tokens: tokens, store: store
/// )
/// ```
///
/// Give every account the same `Ringline.Configuration.installation`: only then do the users share the push token, and each of
/// them is pushed.
@MainActor
public final class CallKitAccount: CallSystem {
    /// The user; `nil` = the one account of an app that uses the ``CallKitSystem`` itself.
    public let user: UserID?
    /// The account's label, such as `Work`, which CallKit shows behind a caller's name; `nil` = none.
    public let label: String?

    /// Takes the events; a `Ringline` sets it when it is created, and `nil` means that this user is not signed in.
    public var events: (@MainActor @Sendable (CallSystemEvent) -> Void)? {
        didSet { system?.changed(self) }
    }

    /// `true`: CallKit answers each report of an incoming call.
    public let confirmsReports = true

    private weak var system: CallKitSystem?
    /// Keeps the adapter alive; `nil` if the adapter itself keeps this object.
    private let kept: CallKitSystem?

    init(_ user: UserID?, label: String?, of system: CallKitSystem) {
        self.user = user
        self.label = label
        self.system = system
        kept = user == nil ? nil : system
    }

    /// Reports an incoming call to CallKit, and CallKit's answer to the kit.
    public func reportIncoming(_ call: CallUUID, _ peer: CallClient.DisplayedPeer) {
        system?.reportIncoming(call, peer, of: self)
    }

    /// Reports that an outgoing call is being connected.
    public func reportConnecting(_ call: CallUUID, isOutgoing: Bool) {
        system?.reportConnecting(call, isOutgoing: isOutgoing)
    }

    /// Fulfils the answer of an incoming call, or reports that an outgoing call is connected.
    public func reportConnected(_ call: CallUUID, isOutgoing: Bool) {
        system?.reportConnected(call, isOutgoing: isOutgoing)
    }

    /// Reports the end of a call, and fails its answer if it is not fulfilled yet.
    public func reportEnded(_ call: CallUUID, _ end: ReportedEnd) { system?.reportEnded(call, end) }

    /// Reports changed data of the peer.
    public func update(_ call: CallUUID, _ peer: CallClient.DisplayedPeer) { system?.update(call, peer, of: self) }

    /// Fails the action that the core refused.
    public func refuse(_ call: CallUUID, _ refusal: CallClient.Refusal) { system?.refuse(call, refusal) }

    /// Asks CallKit for an action, which CallKit then has the adapter perform.
    public func request(_ action: CallAction) { system?.request(action, of: self) }

    /// Returns the handle of a peer for CallKit, with the account behind it, so that the list of recent calls leads back to
    /// the account.
    ///
    /// A phone number or a mail address stays as it is, because iOS looks it up in the contacts.
    func handle(_ handle: String, _ type: CallClient.HandleType) -> String {
        // A push without a caller has the handle `unknown`, which cannot be called back.
        guard let user, type == .generic, handle != "unknown" else { return handle }
        return handle + DialRequest.accountMark + user.text
    }

    /// Returns the name that CallKit shows; `nil` = CallKit shows the handle.
    func name(of peer: CallClient.DisplayedPeer) -> String? {
        guard let label else { return user == nil ? peer.name : peer.name ?? peer.handle }
        return "\(peer.name ?? peer.handle) (\(label))"
    }
}
#endif
