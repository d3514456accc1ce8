@_exported public import AVFAudio
public import Foundation

// The part of Apple's AVFoundation and CoreMedia that the pages of the kits use, for compiling them where there is no
// Apple SDK. Declarations as in https://developer.apple.com/documentation/avfoundation/avcapturedevice.

/// A kind of media.
public struct AVMediaType: RawRepresentable, Hashable, Sendable {
    /// The kind's name.
    public let rawValue: String
    /// Creates a kind of a name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The microphone, and the camera.
    public static let audio = AVMediaType(rawValue: "soun"), video = AVMediaType(rawValue: "vide")
}

/// A camera or a microphone.
open class AVCaptureDevice: NSObject {
    /// Where on the device a camera is.
    public enum Position: Int, Sendable {
        /// As the names say.
        case unspecified, back, front
    }

    /// A size and a rate at which a camera records.
    open class Format: NSObject {
        /// The size, among other things.
        public let formatDescription = CMFormatDescription()
    }

    /// Asks the user for the microphone or the camera, unless they have answered before; the answer comes on any thread.
    open class func requestAccess(for type: AVMediaType, completionHandler: @escaping @Sendable (Bool) -> Void) {}

    /// Where on the device the camera is.
    public let position = Position.front
}

/// The description of a format.
open class CMFormatDescription {
    init() {}
}

/// A size in pixels.
public struct CMVideoDimensions: Sendable {
    /// The number of columns.
    public var width: Int32
    /// The number of rows.
    public var height: Int32
}

/// Returns the size of a format's pictures.
public func CMVideoFormatDescriptionGetDimensions(_ format: CMFormatDescription) -> CMVideoDimensions {
    CMVideoDimensions(width: 1280, height: 720)
}
