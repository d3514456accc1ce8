public import CallClient
public import CallCore
import Foundation

/// Calls for an app: a `CallClient` with sockets, requests, a token, a media engine and the system around it.
///
/// Make one when a user is logged in, at launch before PushKit can deliver a push, and keep it until the user logs out.
/// Everything happens on the main actor; an event of the system is handled, and reported back, before the function that
/// brought it returns.
///
/// ```swift
/// let ringline = Ringline(configuration, ports)
/// ringline.onEvent = { event in screens.show(event) }
/// ringline.startCall(to: UserID("10")!, hasVideo: false)
/// ```
///
/// The page <doc:TenMinutes> begins with nothing and ends with a call that rings.
@MainActor
public final class Ringline {
    /// The settings.
    public let configuration: Configuration
    /// This installation's id, which the server knows; made at the first launch and kept in the store.
    public let device: DeviceID

    let ports: Ports
    var core: CallClient
    var reconnection = Reconnection()
    var registration: Registration
    let tokens: TokenKeeper

    // The connection.
    var socket: (number: ConnectionNumber, socket: any SignalingSocket)?
    var liveness = Liveness()
    /// The newest STUN and TURN servers that the server named.
    var iceServers: [ICEServer] = []

    // Inputs wait here while the outputs of an earlier one are carried out.
    private var waiting: [CallClient.Input] = []
    private var isTaking = false
    /// The calls that wait for the ICE servers, each until a moment.
    var delayedStarts: [DelayedStart] = []
    /// Whether the user has logged out, and whether the app was told that the logout is complete.
    var isLoggedOut = false
    var isToldLoggedOut = false

    // The events.
    var told: [CallUUID: CallClient.Call] = [:]
    var kept: [RinglineEvent] = []

    /// Takes the events for the app's screens, in order, on the main actor.
    ///
    /// Those that came before this was set come at once, the oldest first; at most 512 are kept.
    public var onEvent: (@MainActor (RinglineEvent) -> Void)? {
        didSet { deliverKept() }
    }

    /// Whether the app is in the foreground, where it keeps a connection even without a call.
    ///
    /// Set it to `false` when the app goes into the background, and to `true` when it comes back. In the background, the
    /// connection is closed after the last call, and pushes ring.
    public var isInForeground = true {
        didSet {
            guard isInForeground != oldValue else { return }
            if isInForeground { connect(isUrgent: false) }
            settle()
        }
    }

    /// The calls that are live, in the order in which they came.
    public var calls: [CallClient.Call] { core.calls.filter(\.isLive) }

    /// Whether a connection to the server is open.
    public private(set) var isConnected = false

    /// Creates the kit for a user who is logged in.
    public init(_ configuration: Configuration, _ ports: Ports) {
        self.configuration = configuration
        self.ports = ports
        device = Self.device(in: ports.store)
        tokens = TokenKeeper(ports.tokens, ports.clock)
        var core = CallClient.Configuration(user: configuration.user, device: device, signalIDPrefix: UUID().uuidString)
        core.displayName = configuration.displayName
        core.ringTimeout = configuration.ringTimeout
        core.maximumCallGroups = configuration.maximumCalls
        core.awaitsReports = ports.system.confirmsReports
        core.clockSkew = ports.store[Self.skewName].flatMap { Int64($0) }.map { .milliseconds($0) }
        self.core = CallClient(core)
        registration = Registration(
            device: device,
            platform: configuration.platform,
            bundleID: configuration.bundleID,
            environment: configuration.environment
        )
        tokens.missing = { [weak self] text in
            self?.tell(.tokenMissing(text))
            self?.settle()
        }
        tokens.renewed = { [weak self] in self?.tokenRenewed() }
        ports.media.events = { [weak self] in self?.take($0) }
        ports.system.events = { [weak self] in self?.take($0) }
        register(.loggedIn)
        if isInForeground { connect(isUrgent: false) }
        settle()
    }

    private static let deviceName = "device"
    private static let skewName = "clockSkew"

    private static func device(in store: any ValueStore) -> DeviceID {
        if let known = store[deviceName].flatMap({ DeviceID($0) }) { return known }
        let made = UUID().uuidString.lowercased()
        store[deviceName] = made
        // A UUID always has the form of a device id.
        return DeviceID(made) ?? device(in: store)
    }

    // MARK: Inputs

    /// Hands an input to the core, and carries out what follows; an input that comes meanwhile waits for its turn.
    func take(_ input: CallClient.Input) {
        waiting.append(input)
        guard !isTaking else { return }
        isTaking = true
        while !waiting.isEmpty {
            let next = waiting.removeFirst()
            for output in core.handle(next, at: ports.clock.now) { perform(output, isUrgent: next.isUrgent) }
            keepSkew()
            tellChanges()
        }
        isTaking = false
        settle()
    }

    private func take(_ event: CallSystemEvent) {
        switch event {
        case .start(let call, let peer, let hasVideo): start(call, to: peer, hasVideo: hasVideo)
        case .input(.end(let call, _)) where withdrawStart(call): break
        case .input(let input): take(input)
        case .voipToken(let token): register(.token(.voip, token))
        }
    }

    private func take(_ event: MediaEvent) {
        switch event {
        case .description(let call, let round, let kind, let sdp):
            take(.localDescription(call, round: round, kind, sdp: sdp))
        case .candidate(let call, let round, let candidate): take(.localCandidate(call, round: round, candidate))
        case .connected(let call): take(.mediaConnected(call))
        case .interrupted(let call): take(.renegotiate(call, restartsICE: true))
        case .failed(let call): take(.mediaFailed(call))
        }
    }

    private func keepSkew() {
        guard let skew = core.clockSkew else { return }
        // Small changes are not worth a write to the disk.
        let known = ports.store[Self.skewName].flatMap { Int64($0) }
        if let known, abs(known - skew.milliseconds) < 500 { return }
        ports.store[Self.skewName] = String(skew.milliseconds)
    }

    func connectionChanged(_ isOpen: Bool) {
        isConnected = isOpen
        take(isOpen ? .connectionOpened : .connectionClosed)
        tell(.connection(isOpen))
    }

    // MARK: Time

    /// Closes a connection that nothing needs, and sets the timer to the next moment at which something is due.
    func settle() {
        guard !isTaking else { return }
        if !wantsConnection, reconnection.current != nil || reconnection.deadline != nil { reconnect(.unwanted) }
        if isLoggedOut { tellLoggedOut() }
        let dues = [
            core.deadline, reconnection.deadline, registration.deadline, liveness.deadline, tokens.retryAt,
            delayedStarts.map(\.until).min(),
        ]
        ports.clock.wake(at: dues.compactMap(\.self).min()) { [weak self] in self?.wake() }
    }

    private func wake() {
        let now = ports.clock.now
        func isDue(_ moment: Moment?) -> Bool { moment.map { now >= $0 } ?? false }
        if isDue(core.deadline) { take(.deadlineReached) }
        if isDue(reconnection.deadline) { reconnect(.deadlineReached) }
        if isDue(registration.deadline) { register(.deadlineReached) }
        if isDue(liveness.deadline) { checkLiveness(at: now) }
        if isDue(tokens.retryAt) { tokens.fetch() }
        if isDue(delayedStarts.map(\.until).min()) { startDelayed() }
        settle()
    }

    /// Whether a connection is useful now.
    var wantsConnection: Bool { isInForeground && !isLoggedOut || core.wantsConnection || !delayedStarts.isEmpty }
}
