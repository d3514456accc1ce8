public import CallClient
public import CallCore
import Foundation

/// The calls of one device of one user: a `CallClient` with its sockets, requests, token, media engine and call system.
///
/// Make one at launch if a user is logged in, before PushKit can deliver a push, or at login. Keep it until the user logs out.
/// Everything happens on the main actor. The kit handles an event of the system, and makes its reports to it, before the
/// function that brought the event returns.
///
/// ```swift
/// let ringline = Ringline(configuration, ports)
/// ringline.onEvent = { event in screens.show(event) }
/// if let user = UserID("10") { ringline.startCall(to: user, hasVideo: false) }
/// ```
///
/// The page <doc:TenMinutes> goes from an empty project to a call that rings.
@MainActor
public final class Ringline {
    /// The settings with which this kit was created.
    public let configuration: Configuration
    /// This installation's id on the server: made at the first launch, and kept in the store.
    public let device: DeviceID

    let ports: Ports
    var core: CallClient
    var reconnection = Reconnection()
    var registration: Registration
    let tokens: TokenCache

    // The connection.
    var socket: (number: ConnectionNumber, socket: any SignalingSocket)?
    var liveness = Liveness()
    /// Whether another connection with this device's id has replaced the last one, and the user has not acted since.
    var isReplaced = false
    /// The newest STUN and TURN servers that the server named.
    var iceServers: [ICEServer] = []
    var turnRenewal = TURNRenewal()

    /// The inputs that came while the outputs of an earlier one were being carried out.
    private var pendingInputs: [CallClient.Input] = []
    private var isTaking = false
    /// The calls that wait for the addresses of the STUN and TURN servers.
    var delayedStarts: [DelayedStart] = []
    /// Whether the user has logged out.
    var isLoggedOut = false
    /// Whether the app got the event that the logout is complete.
    var hasEmittedLogout = false

    /// The calls as the last events showed them.
    var emittedCalls: [CallUUID: CallClient.Call] = [:]
    /// The events that wait for ``onEvent``.
    var pendingEvents: [RinglineEvent] = []

    /// Takes the events for the app's screens, in order.
    ///
    /// The events that came before this is set, up to the newest 512, are delivered when it is set, the oldest first.
    public var onEvent: (@MainActor (RinglineEvent) -> Void)? {
        didSet { deliverPending() }
    }

    /// Takes lines for the app's log, about connections, requests, pushes, reports and signals; `nil` at first.
    ///
    /// The lines contain ids of users, calls and devices. They contain no token, no description and no data of the app.
    public var onLog: (@MainActor (String) -> Void)?

    /// Whether the app is in the foreground, where the kit keeps a connection even without a call; `true` at first.
    ///
    /// Set it to `false` when the app goes into the background, and to `true` when it comes back. In the background, the kit
    /// closes the connection after the last call, and the device rings by pushes.
    public var isInForeground = true {
        didSet {
            guard isInForeground != oldValue else { return }
            if isInForeground {
                isReplaced = false
                connect(isUrgent: false)
            }
            settle()
        }
    }

    /// The calls that are live, in the order in which they came.
    public var calls: [CallClient.Call] { core.calls.filter(\.isLive) }

    /// Whether a connection to the server is open.
    public private(set) var isConnected = false

    /// Creates the kit for a user who is logged in, registers the device, and begins to connect.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - ports: the sockets, requests, media engine, call system, token source, store and clock. The kit sets the `events`
    ///     of the media engine and of the call system.
    public init(_ configuration: Configuration, _ ports: Ports) {
        self.configuration = configuration
        self.ports = ports
        device = Self.device(in: ports.store)
        tokens = TokenCache(ports.tokens, ports.clock)
        var core = CallClient.Configuration(user: configuration.user, device: device, signalIDPrefix: UUID().uuidString)
        core.displayName = configuration.displayName
        core.handle = configuration.handle
        core.handleType = configuration.handleType
        core.ringTimeout = configuration.ringTimeout
        core.maximumCallGroups = configuration.maximumCalls
        core.awaitsReports = ports.system.confirmsReports
        core.clockSkew = ports.store[Self.clockSkewName].flatMap { Int64($0) }.map { .milliseconds($0) }
        self.core = CallClient(core)
        registration = Registration(
            device: device,
            platform: configuration.platform,
            bundleID: configuration.bundleID,
            environment: configuration.environment
        )
        registration.installation = configuration.installation
        registration.sound = configuration.sound
        registration.mutableContent = configuration.mutableContent
        tokens.missing = { [weak self] text in
            self?.log("no token: \(text)")
            self?.emit(.tokenMissing(text))
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
    private static let clockSkewName = "clockSkew"

    private static func device(in store: any ValueStore) -> DeviceID {
        if let known = store[deviceName].flatMap({ DeviceID($0) }) { return known }
        let made = UUID().uuidString.lowercased()
        store[deviceName] = made
        // A UUID always has the form of a device id.
        return DeviceID(made) ?? device(in: store)
    }

    // MARK: Inputs

    /// Hands an input to the core, and carries out the outputs.
    ///
    /// An input that comes in the meantime waits until they are done.
    func take(_ input: CallClient.Input) {
        pendingInputs.append(input)
        guard !isTaking else { return }
        isTaking = true
        while !pendingInputs.isEmpty {
            let next = pendingInputs.removeFirst()
            let resumes = isReplaced && next.isUrgent
            if resumes { isReplaced = false }
            for output in core.handle(next, at: ports.clock.now) { perform(output, isUrgent: next.isUrgent) }
            // The core itself asks for a connection only if a call needs one.
            if resumes, wantsConnection { connect(isUrgent: true) }
            storeClockSkew()
            emitChanges()
        }
        isTaking = false
        settle()
    }

    private func take(_ event: CallSystemEvent) {
        switch event {
        case .start(let call, let peer, let hasVideo): start(call, to: peer, hasVideo: hasVideo)
        case .input(.end(let call, _)) where cancelDelayedStart(call): break
        case .input(let input):
            logInput(input)
            take(input)
        case .voipToken(let token):
            log(token == nil ? "the system has invalidated the VoIP token" : "the system has issued a VoIP token")
            register(.token(.voip, token))
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
        case .refused(let call, let round): take(.negotiationFailed(call, round: round))
        }
    }

    private func storeClockSkew() {
        guard let skew = core.clockSkew else { return }
        // Small changes are not worth a write to the disk.
        let known = ports.store[Self.clockSkewName].flatMap { Int64($0) }
        if let known, abs(known - skew.milliseconds) < 500 { return }
        ports.store[Self.clockSkewName] = String(skew.milliseconds)
    }

    func connectionChanged(_ isOpen: Bool) {
        log(isOpen ? "connected" : "disconnected")
        isConnected = isOpen
        take(isOpen ? .connectionOpened : .connectionClosed)
        emit(.connection(isOpen))
    }

    // MARK: Time

    /// Closes a connection that nothing needs, and sets the timer to the next moment at which something is due.
    func settle() {
        guard !isTaking else { return }
        if !wantsConnection, reconnection.current != nil || reconnection.deadline != nil { reconnect(.unwanted) }
        if isLoggedOut { emitLogout() }
        let dues = [
            core.deadline, reconnection.deadline, registration.deadline, liveness.deadline, tokens.retryAt,
            delayedStarts.map(\.until).min(), turnDeadline,
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
        if isDue(turnDeadline) { renewTURNCredentials(at: now) }
        if isDue(delayedStarts.map(\.until).min()) { startDelayed() }
        settle()
    }

    /// Whether a connection is useful now.
    var wantsConnection: Bool {
        // Two devices with one id that both reconnect would replace each other for ever.
        guard !isReplaced else { return false }
        return isInForeground && !isLoggedOut || core.wantsConnection || !delayedStarts.isEmpty
    }
}
