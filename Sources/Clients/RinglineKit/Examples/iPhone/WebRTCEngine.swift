import AVFoundation
import CallClient
import CallCore
import Foundation
import RinglineKit
@preconcurrency import WebRTC

@MainActor
final class WebRTCEngine: NSObject, MediaEngine {
    var events: (@MainActor @Sendable (MediaEvent) -> Void)?
    /// Called with the peer's video, for a view such as `RTCMTLVideoView`; `nil` = the video has ended.
    var showRemoteVideo: (CallUUID, RTCVideoTrack?) -> Void = { _, _ in }
    /// Called with this device's own video; `nil` = it has ended.
    var showLocalVideo: (CallUUID, RTCVideoTrack?) -> Void = { _, _ in }

    private let factory = RTCPeerConnectionFactory(
        encoderFactory: RTCDefaultVideoEncoderFactory(),
        decoderFactory: RTCDefaultVideoDecoderFactory()
    )
    private var servers: [RTCIceServer] = []
    private var peers: [CallUUID: Peer] = [:]

    /// The peer connection of one call, and its tracks.
    private final class Peer {
        let connection: RTCPeerConnection
        let observer: Observer
        let audio: RTCAudioTrack
        var video: RTCVideoTrack?
        var capturer: RTCCameraVideoCapturer?
        /// The round of the description that the kit asked for last.
        var wantedRound: UInt32 = 0
        /// The round of the local description, to which the gathered candidates belong.
        var round: UInt32 = 0
        /// Whether an exchange of descriptions has succeeded, so that the call can go on if a later one fails.
        var isNegotiated = false
        /// Whether WebRTC has refused the peer's newest offer, for which the kit wants an answer next.
        var hasRefusedOffer = false
        var isHeld = false
        var isAudioMuted = false
        var isVideoMuted = false

        init(_ connection: RTCPeerConnection, _ observer: Observer, _ audio: RTCAudioTrack) {
            self.connection = connection
            self.observer = observer
            self.audio = audio
        }
    }

    override init() {
        super.init()
        let session = RTCAudioSession.sharedInstance()
        session.useManualAudio = true
        session.isAudioEnabled = false
    }

    func use(_ servers: [ICEServer]) {
        self.servers = servers.map {
            RTCIceServer(urlStrings: $0.urls, username: $0.username, credential: $0.credential)
        }
        for peer in peers.values { _ = peer.connection.setConfiguration(configuration) }
    }

    private var configuration: RTCConfiguration {
        let configuration = RTCConfiguration()
        configuration.sdpSemantics = .unifiedPlan
        configuration.bundlePolicy = .maxBundle
        configuration.continualGatheringPolicy = .gatherContinually
        configuration.iceServers = servers
        return configuration
    }

    private func peer(of call: CallUUID) -> Peer? {
        if let peer = peers[call] { return peer }
        let observer = Observer(call, self)
        let none = RTCMediaConstraints(mandatoryConstraints: nil, optionalConstraints: nil)
        guard let connection = factory.peerConnection(with: configuration, constraints: none, delegate: observer) else {
            events?(.failed(call))
            return nil
        }
        let audio = factory.audioTrack(with: factory.audioSource(with: none), trackId: "audio")
        connection.add(audio, streamIds: ["stream"])
        let peer = Peer(connection, observer, audio)
        peers[call] = peer
        return peer
    }

    // MARK: Descriptions

    func makeOffer(_ call: CallUUID, round: UInt32, hasVideo: Bool, restartsICE: Bool) {
        guard let peer = peer(of: call) else { return }
        if hasVideo { addVideo(to: peer, call) }
        if restartsICE { peer.connection.restartIce() }
        make(.offer, call, peer, round)
    }

    func makeAnswer(_ call: CallUUID, round: UInt32) {
        guard let peer = peer(of: call) else { return }
        let offersVideo = peer.connection.transceivers.contains { $0.mediaType == .video }
        if offersVideo { addVideo(to: peer, call) }
        make(.answer, call, peer, round)
    }

    private func make(_ kind: CallClient.DescriptionKind, _ call: CallUUID, _ peer: Peer, _ round: UInt32) {
        peer.wantedRound = round
        let made: @Sendable (RTCSessionDescription?, (any Error)?) -> Void = { [weak self] description, _ in
            onMain { [weak self] in self?.made(description, kind, call, round) }
        }
        let none = RTCMediaConstraints(mandatoryConstraints: nil, optionalConstraints: nil)
        switch kind {
        case .offer: peer.connection.offer(for: none, completionHandler: made)
        case .answer: peer.connection.answer(for: none, completionHandler: made)
        }
    }

    private func made(
        _ description: RTCSessionDescription?,
        _ kind: CallClient.DescriptionKind,
        _ call: CallUUID,
        _ round: UInt32
    ) {
        // The round may have been rolled back, or the call closed, in the meantime.
        guard let peer = peers[call], peer.wantedRound == round else { return }
        guard let description, kind == .offer || !peer.hasRefusedOffer else { return refused(call, round) }
        peer.round = round
        let sdp = description.sdp
        peer.connection.setLocalDescription(description) { @Sendable [weak self] error in
            onMain { [weak self] in
                guard let self, let peer = self.peers[call], peer.wantedRound == round else { return }
                guard error == nil else { return self.refused(call, round) }
                if kind == .answer { peer.isNegotiated = true }
                self.events?(.description(call, round: round, kind, sdp: sdp))
            }
        }
    }

    /// Goes back to the descriptions before those that WebRTC has refused; without any, the call fails.
    private func refused(_ call: CallUUID, _ round: UInt32) {
        guard let peer = peers[call], peer.isNegotiated else {
            events?(.failed(call))
            return
        }
        let rollback = RTCSessionDescription(type: .rollback, sdp: "")
        switch peer.connection.signalingState {
        case .haveLocalOffer: peer.connection.setLocalDescription(rollback) { @Sendable _ in }
        case .haveRemoteOffer: peer.connection.setRemoteDescription(rollback) { @Sendable _ in }
        default: break
        }
        peer.wantedRound = 0
        events?(.refused(call, round: round))
    }

    func setRemoteDescription(_ call: CallUUID, _ kind: CallClient.DescriptionKind, sdp: String) {
        guard let peer = peer(of: call) else { return }
        let description = RTCSessionDescription(type: kind == .offer ? .offer : .answer, sdp: sdp)
        let round = peer.round
        if kind == .offer { peer.hasRefusedOffer = false }
        peer.connection.setRemoteDescription(description) { @Sendable [weak self] error in
            onMain { [weak self] in
                guard let self, let peer = self.peers[call] else { return }
                switch (kind, error == nil) {
                case (.answer, true): peer.isNegotiated = true
                case (.offer, true): break
                case (.offer, false) where peer.isNegotiated: peer.hasRefusedOffer = true
                case (.answer, false), (.offer, false): self.refused(call, round)
                }
            }
        }
    }

    func addRemoteCandidate(_ call: CallUUID, _ candidate: String?) {
        guard let peer = peers[call], let candidate,
            let object = try? JSONSerialization.jsonObject(with: Data(candidate.utf8)) as? [String: Any],
            let sdp = object["candidate"] as? String
        else { return }
        let line = (object["sdpMLineIndex"] as? NSNumber)?.int32Value ?? 0
        let one = RTCIceCandidate(sdp: sdp, sdpMLineIndex: line, sdpMid: object["sdpMid"] as? String)
        // One bad candidate is no reason to end a call.
        peer.connection.add(one) { @Sendable _ in }
    }

    func rollback(_ call: CallUUID) {
        guard let peer = peers[call] else { return }
        peer.wantedRound = 0
        guard peer.connection.signalingState == .haveLocalOffer else { return }
        peer.connection.setLocalDescription(RTCSessionDescription(type: .rollback, sdp: "")) { @Sendable _ in }
    }

    // MARK: Media

    func setAudio(_ call: CallUUID, isOn: Bool) {
        let session = RTCAudioSession.sharedInstance()
        if isOn {
            adoptAudioSession()
            session.audioSessionDidActivate(AVAudioSession.sharedInstance())
        }
        session.isAudioEnabled = isOn
        if !isOn { session.audioSessionDidDeactivate(AVAudioSession.sharedInstance()) }
    }

    /// Has WebRTC keep to the category, the mode and the options that the kit has set for the call.
    private func adoptAudioSession() {
        let session = AVAudioSession.sharedInstance()
        let configuration = RTCAudioSessionConfiguration.webRTC()
        configuration.category = session.category.rawValue
        configuration.mode = session.mode.rawValue
        configuration.categoryOptions = session.categoryOptions
        RTCAudioSessionConfiguration.setWebRTC(configuration)
    }

    func setHeld(_ call: CallUUID, _ isHeld: Bool) {
        peers[call]?.isHeld = isHeld
        applyMutes(call)
    }

    func setMuted(_ call: CallUUID, audio: Bool?, video: Bool?) {
        if let audio { peers[call]?.isAudioMuted = audio }
        if let video { peers[call]?.isVideoMuted = video }
        applyMutes(call)
    }

    private func applyMutes(_ call: CallUUID) {
        guard let peer = peers[call] else { return }
        peer.audio.isEnabled = !peer.isHeld && !peer.isAudioMuted
        peer.video?.isEnabled = !peer.isHeld && !peer.isVideoMuted
        for receiver in peer.connection.receivers { receiver.track?.isEnabled = !peer.isHeld }
    }

    private func addVideo(to peer: Peer, _ call: CallUUID) {
        guard peer.video == nil else { return }
        let source = factory.videoSource()
        let track = factory.videoTrack(with: source, trackId: "video")
        peer.video = track
        peer.connection.add(track, streamIds: ["stream"])
        // The kit sets the session for video when this event is over.
        onMain { [weak self] in self?.adoptAudioSession() }
        showLocalVideo(call, track)
        let capturer = RTCCameraVideoCapturer(delegate: source)
        peer.capturer = capturer
        let cameras = RTCCameraVideoCapturer.captureDevices()
        guard let camera = cameras.first(where: { $0.position == .front }) ?? cameras.first else { return }
        let formats = RTCCameraVideoCapturer.supportedFormats(for: camera)
        let wanted = formats.last { CMVideoFormatDescriptionGetDimensions($0.formatDescription).width <= 1280 }
        if let format = wanted ?? formats.first { capturer.startCapture(with: camera, format: format, fps: 30) }
    }

    func close(_ call: CallUUID) {
        guard let peer = peers.removeValue(forKey: call) else { return }
        peer.capturer?.stopCapture()
        peer.connection.close()
        showLocalVideo(call, nil)
        showRemoteVideo(call, nil)
    }

    // MARK: What WebRTC reports

    fileprivate func gathered(_ candidate: RTCIceCandidate?, _ call: CallUUID) {
        guard let peer = peers[call] else { return }
        var text: String?
        if let candidate {
            let object: [String: Any] = [
                "candidate": candidate.sdp, "sdpMid": candidate.sdpMid ?? "0", "sdpMLineIndex": candidate.sdpMLineIndex,
            ]
            guard let data = try? JSONSerialization.data(withJSONObject: object) else { return }
            text = String(decoding: data, as: UTF8.self)
        }
        events?(.candidate(call, round: peer.round, text))
    }

    fileprivate func changed(_ state: RTCPeerConnectionState, _ call: CallUUID) {
        guard peers[call] != nil else { return }
        switch state {
        case .connected: events?(.connected(call))
        case .failed: events?(.interrupted(call))
        default: break
        }
    }

    fileprivate func received(_ track: RTCVideoTrack, _ call: CallUUID) { showRemoteVideo(call, track) }
}

/// Passes the reports of one peer connection on to the main actor: WebRTC makes them on a thread of its own.
private nonisolated final class Observer: NSObject, RTCPeerConnectionDelegate, @unchecked Sendable {
    private let call: CallUUID
    private weak var engine: WebRTCEngine?

    init(_ call: CallUUID, _ engine: WebRTCEngine) {
        self.call = call
        self.engine = engine
    }

    func peerConnection(_ connection: RTCPeerConnection, didGenerate candidate: RTCIceCandidate) {
        onMain { [self] in engine?.gathered(candidate, call) }
    }
    func peerConnection(_ connection: RTCPeerConnection, didChange state: RTCIceGatheringState) {
        if state == .complete { onMain { [self] in engine?.gathered(nil, call) } }
    }
    func peerConnection(_ connection: RTCPeerConnection, didChange state: RTCPeerConnectionState) {
        onMain { [self] in engine?.changed(state, call) }
    }
    func peerConnection(
        _ connection: RTCPeerConnection,
        didAdd receiver: RTCRtpReceiver,
        streams: [RTCMediaStream]
    ) {
        guard let track = receiver.track as? RTCVideoTrack else { return }
        onMain { [self] in engine?.received(track, call) }
    }
    func peerConnection(_ connection: RTCPeerConnection, didChange state: RTCSignalingState) {}
    func peerConnection(_ connection: RTCPeerConnection, didChange state: RTCIceConnectionState) {}
    func peerConnection(_ connection: RTCPeerConnection, didAdd stream: RTCMediaStream) {}
    func peerConnection(_ connection: RTCPeerConnection, didRemove stream: RTCMediaStream) {}
    func peerConnection(_ connection: RTCPeerConnection, didRemove candidates: [RTCIceCandidate]) {}
    func peerConnection(_ connection: RTCPeerConnection, didOpen channel: RTCDataChannel) {}
    func peerConnectionShouldNegotiate(_ connection: RTCPeerConnection) {}
}

/// Runs a function on the main queue, which keeps the order; tasks do not promise to.
private nonisolated func onMain(_ work: @escaping @MainActor @Sendable () -> Void) {
    DispatchQueue.main.async { MainActor.assumeIsolated(work) }
}
