// The names are the library's, which documents them.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import AVFoundation
public import Foundation
public import UIKit

// The part of the WebRTC library's Objective-C API that the example for iPhones uses, as Swift sees it, for
// compiling the example where there is no Apple SDK. Written from the library's headers
// (https://webrtc.googlesource.com/src/+/main/sdk/objc/api/peerconnection). Nothing works: only the types are checked.
// The completion handlers and the delegate's methods come on a thread of the library's own.

/// Servers and settings of a connection.
open class RTCConfiguration: NSObject {
    public var iceServers: [RTCIceServer] = []
    public var sdpSemantics = RTCSdpSemantics.unifiedPlan
    public var bundlePolicy = RTCBundlePolicy.balanced
    public var continualGatheringPolicy = RTCContinualGatheringPolicy.gatherOnce
}

public enum RTCSdpSemantics: Int, Sendable { case planB, unifiedPlan }
public enum RTCBundlePolicy: Int, Sendable { case balanced, maxCompat, maxBundle }
public enum RTCContinualGatheringPolicy: Int, Sendable { case gatherOnce, gatherContinually }

open class RTCIceServer: NSObject {
    public init(urlStrings: [String], username: String?, credential: String?) {}
}

open class RTCMediaConstraints: NSObject {
    public init(mandatoryConstraints: [String: String]?, optionalConstraints: [String: String]?) {}
}

public enum RTCSdpType: Int, Sendable { case offer, prAnswer, answer, rollback }

open class RTCSessionDescription: NSObject {
    public let type: RTCSdpType
    public let sdp: String
    public init(type: RTCSdpType, sdp: String) { (self.type, self.sdp) = (type, sdp) }
}

open class RTCIceCandidate: NSObject {
    public let sdp: String
    public let sdpMLineIndex: Int32
    public let sdpMid: String?
    public init(sdp: String, sdpMLineIndex: Int32, sdpMid: String?) {
        (self.sdp, self.sdpMLineIndex, self.sdpMid) = (sdp, sdpMLineIndex, sdpMid)
    }
}

open class RTCMediaStreamTrack: NSObject { public var isEnabled = true }
open class RTCAudioTrack: RTCMediaStreamTrack {}
public protocol RTCVideoRenderer: NSObjectProtocol {}
open class RTCVideoTrack: RTCMediaStreamTrack {
    open func add(_ renderer: any RTCVideoRenderer) {}
    open func remove(_ renderer: any RTCVideoRenderer) {}
}
open class RTCMTLVideoView: UIView, RTCVideoRenderer {}
open class RTCAudioSource: NSObject {}
open class RTCMediaStream: NSObject {}
open class RTCDataChannel: NSObject {}
open class RTCRtpSender: NSObject {}
open class RTCRtpReceiver: NSObject { public var track: RTCMediaStreamTrack? { nil } }
public enum RTCRtpMediaType: Int, Sendable { case audio, video, data }
open class RTCRtpTransceiver: NSObject { public var mediaType: RTCRtpMediaType { .audio } }

public protocol RTCVideoCapturerDelegate: NSObjectProtocol {}
open class RTCVideoSource: NSObject, RTCVideoCapturerDelegate {}

open class RTCCameraVideoCapturer: NSObject {
    public init(delegate: any RTCVideoCapturerDelegate) {}
    open class func captureDevices() -> [AVCaptureDevice] { [] }
    open class func supportedFormats(for device: AVCaptureDevice) -> [AVCaptureDevice.Format] { [] }
    open func startCapture(with device: AVCaptureDevice, format: AVCaptureDevice.Format, fps: Int) {}
    open func stopCapture() {}
}

public enum RTCSignalingState: Int, Sendable {
    case stable, haveLocalOffer, haveLocalPrAnswer, haveRemoteOffer, haveRemotePrAnswer, closed
}
public enum RTCIceConnectionState: Int, Sendable {
    case new, checking, connected, completed, failed, disconnected, closed, count
}
public enum RTCIceGatheringState: Int, Sendable { case new, gathering, complete }
public enum RTCPeerConnectionState: Int, Sendable { case new, connecting, connected, disconnected, failed, closed }

public protocol RTCPeerConnectionDelegate: NSObjectProtocol {
    func peerConnection(_ connection: RTCPeerConnection, didChange state: RTCSignalingState)
    func peerConnection(_ connection: RTCPeerConnection, didAdd stream: RTCMediaStream)
    func peerConnection(_ connection: RTCPeerConnection, didRemove stream: RTCMediaStream)
    func peerConnectionShouldNegotiate(_ connection: RTCPeerConnection)
    func peerConnection(_ connection: RTCPeerConnection, didChange state: RTCIceConnectionState)
    func peerConnection(_ connection: RTCPeerConnection, didChange state: RTCIceGatheringState)
    func peerConnection(_ connection: RTCPeerConnection, didGenerate candidate: RTCIceCandidate)
    func peerConnection(_ connection: RTCPeerConnection, didRemove candidates: [RTCIceCandidate])
    func peerConnection(_ connection: RTCPeerConnection, didOpen channel: RTCDataChannel)
    // Optional in Objective-C.
    func peerConnection(_ connection: RTCPeerConnection, didChange state: RTCPeerConnectionState)
    func peerConnection(_ connection: RTCPeerConnection, didAdd receiver: RTCRtpReceiver, streams: [RTCMediaStream])
}

open class RTCPeerConnection: NSObject {
    open var signalingState: RTCSignalingState { .stable }
    open var transceivers: [RTCRtpTransceiver] { [] }
    open var receivers: [RTCRtpReceiver] { [] }
    @discardableResult open func setConfiguration(_ configuration: RTCConfiguration) -> Bool { true }
    @discardableResult open func add(_ track: RTCMediaStreamTrack, streamIds: [String]) -> RTCRtpSender? { nil }
    open func add(_ candidate: RTCIceCandidate, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {}
    open func restartIce() {}
    open func close() {}
    open func offer(
        for constraints: RTCMediaConstraints,
        completionHandler: (@Sendable (RTCSessionDescription?, (any Error)?) -> Void)?
    ) {}
    open func answer(
        for constraints: RTCMediaConstraints,
        completionHandler: (@Sendable (RTCSessionDescription?, (any Error)?) -> Void)?
    ) {}
    open func setLocalDescription(
        _ description: RTCSessionDescription,
        completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) {}
    open func setRemoteDescription(
        _ description: RTCSessionDescription,
        completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) {}
}

public protocol RTCVideoEncoderFactory: NSObjectProtocol {}
public protocol RTCVideoDecoderFactory: NSObjectProtocol {}
open class RTCDefaultVideoEncoderFactory: NSObject, RTCVideoEncoderFactory {}
open class RTCDefaultVideoDecoderFactory: NSObject, RTCVideoDecoderFactory {}

open class RTCPeerConnectionFactory: NSObject {
    public init(encoderFactory: (any RTCVideoEncoderFactory)?, decoderFactory: (any RTCVideoDecoderFactory)?) {}
    open func audioSource(with constraints: RTCMediaConstraints?) -> RTCAudioSource { RTCAudioSource() }
    open func audioTrack(with source: RTCAudioSource, trackId: String) -> RTCAudioTrack { RTCAudioTrack() }
    open func videoSource() -> RTCVideoSource { RTCVideoSource() }
    open func videoTrack(with source: RTCVideoSource, trackId: String) -> RTCVideoTrack { RTCVideoTrack() }
    open func peerConnection(
        with configuration: RTCConfiguration,
        constraints: RTCMediaConstraints,
        delegate: (any RTCPeerConnectionDelegate)?
    ) -> RTCPeerConnection? { nil }
}

open class RTCAudioSessionConfiguration: NSObject {
    open class func webRTC() -> RTCAudioSessionConfiguration { RTCAudioSessionConfiguration() }
    open class func setWebRTC(_ configuration: RTCAudioSessionConfiguration) {}
    open var category = ""
    open var categoryOptions: AVAudioSession.CategoryOptions = []
    open var mode = ""
}

open class RTCAudioSession: NSObject {
    open class func sharedInstance() -> RTCAudioSession { RTCAudioSession() }
    open var useManualAudio = false
    open var isAudioEnabled = false
    open func audioSessionDidActivate(_ session: AVAudioSession) {}
    open func audioSessionDidDeactivate(_ session: AVAudioSession) {}
}
