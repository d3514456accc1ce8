import AVFoundation
import CallClient
import CallCore
import Combine
import Dispatch
import Foundation
import Network
import RinglineCallKit
import RinglineKit
import UserNotifications
@preconcurrency import WebRTC

/// The phone of the user who is signed in: the kit with its ports, and what the screens show.
@MainActor
final class Phone: ObservableObject {
    /// The user who is signed in; `nil` = nobody.
    @Published private(set) var account: Account?
    /// Whether there is a connection to the server.
    @Published private(set) var isConnected = false
    @Published private(set) var calls: [CallClient.Call] = []
    @Published private(set) var history: [PastCall] = []
    /// The peers' video.
    @Published private(set) var videos: [CallUUID: RTCVideoTrack] = [:]
    /// A call that a link asks for, until the user confirms it.
    @Published var proposal: DialRequest?
    /// What the user should know.
    @Published var notice: String?
    private(set) var ringline: Ringline?
    /// APNs' token for notifications, in hexadecimal digits.
    var alertToken: String? { didSet { ringline?.setAlertToken(alertToken) } }

    private let system: CallKitSystem
    private let paths = NWPathMonitor()
    /// The interface that the device uses; `nil` = there is no network.
    private var interface: String?
    /// Whether the monitor has reported, as it does at the start.
    private var knowsInterface = false

    init(_ system: CallKitSystem) {
        self.system = system
        paths.pathUpdateHandler = { @Sendable [weak self] path in
            let interface = path.status == .satisfied ? path.availableInterfaces.first?.name : nil
            DispatchQueue.main.async { [weak self] in MainActor.assumeIsolated { self?.use(interface) } }
        }
        paths.start(queue: .main)
    }

    func signIn(_ account: Account) {
        guard let user = UserID(account.user), let server = URL(string: account.server), let store = try? FileStore()
        else {
            notice = "The server's address, or the user's id, is not one."
            return
        }
        let engine = WebRTCEngine()
        engine.showRemoteVideo = { [weak self] call, track in self?.videos[call] = track }
        let configuration = Ringline.Configuration(
            server: server,
            user: user,
            bundleID: Bundle.main.bundleIdentifier ?? ""
        )
        let ports = Ringline.Ports(media: engine, system: system, tokens: Tokens(account), store: store)
        let ringline = Ringline(configuration, ports)
        ringline.onEvent = { [weak self] in self?.take($0) }
        ringline.onLog = { print($0) }
        ringline.setAlertToken(alertToken)
        self.ringline = ringline
        self.account = account
        Keychain.account = account
        askForPermissions()
        Task { await loadHistory() }
    }

    /// Asks before the first call: on the lock screen nobody can be asked, and the call would have no sound.
    private func askForPermissions() {
        AVCaptureDevice.requestAccess(for: .audio) { @Sendable [weak self] isGranted in
            guard !isGranted else { return }
            DispatchQueue.main.async { [weak self] in
                MainActor.assumeIsolated { self?.notice = "Nobody hears you: allow the microphone in Settings." }
            }
        }
        AVCaptureDevice.requestAccess(for: .video) { @Sendable _ in }
        UNUserNotificationCenter.current().requestAuthorization(options: [.alert, .sound]) { @Sendable _, _ in }
    }

    /// Removes this device from the server; the kit, and the token in it, are needed until `loggedOut`.
    func signOut() { ringline?.logOut() }

    private func take(_ event: RinglineEvent) {
        calls = ringline?.calls ?? []
        switch event {
        case .changed(let call) where !call.isLive: Task { await loadHistory() }
        // As long as the server has not taken the push tokens, the app rings only while it runs.
        case .registered(let isDone, let why): notice = isDone ? why : "No pushes: \(why ?? "")"
        case .connection(let isOpen): isConnected = isOpen
        case .refused(_, let why): notice = "Not possible: \(why)"
        case .tokenMissing(let why): notice = "No token: \(why)"
        case .loggedOut:
            (ringline, account, history) = (nil, nil, [])
            Keychain.account = nil
        default: break
        }
    }

    /// Makes a call that something outside the app asks for; `nil` = it names no user.
    func call(_ request: DialRequest?, from source: String) {
        if let request { ringline?.startCall(request) } else { notice = "\(source) named nobody who uses this app." }
    }

    /// Switches between the speaker and the earpiece or headset; iOS drops the override when the route changes.
    func setSpeaker(_ isOn: Bool) {
        do {
            try AVAudioSession.sharedInstance().overrideOutputAudioPort(isOn ? .speaker : .none)
        } catch {
            notice = error.localizedDescription
        }
    }

    private func loadHistory() async {
        // The list keeps what it has if the server cannot be reached.
        if let past = try? await ringline?.history() { history = past }
    }

    /// With another interface, the kit connects again and restarts ICE.
    private func use(_ interface: String?) {
        if knowsInterface, let interface, interface != self.interface { ringline?.pathChanged() }
        (self.interface, knowsInterface) = (interface, true)
    }
}
