public import Foundation

// The part of Apple's AVFAudio that RinglineCallKit uses, for compiling and testing it where there is no Apple SDK.
// Declarations as in https://developer.apple.com/documentation/avfaudio/avaudiosession.

/// The app's audio session; the stub keeps what it is told.
open class AVAudioSession: NSObject, @unchecked Sendable {
    // @unchecked: as Apple's class, which may be used from every thread; tests use it on the main actor only.

    /// What the app does with sound.
    public struct Category: RawRepresentable, Hashable, Sendable {
        /// The category's name.
        public let rawValue: String
        /// Creates a category of a name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The app records and plays.
        public static let playAndRecord = Category(rawValue: "AVAudioSessionCategoryPlayAndRecord")
    }

    /// A refinement of the category.
    public struct Mode: RawRepresentable, Hashable, Sendable {
        /// The mode's name.
        public let rawValue: String
        /// Creates a mode of a name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// For calls without pictures.
        public static let voiceChat = Mode(rawValue: "AVAudioSessionModeVoiceChat")
        /// For calls with pictures.
        public static let videoChat = Mode(rawValue: "AVAudioSessionModeVideoChat")
    }

    /// Options of a category.
    public struct CategoryOptions: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt
        /// Creates a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }
        /// Bluetooth's hands-free profile may be used.
        public static let allowBluetooth = CategoryOptions(rawValue: 0x4)
        /// Sound comes from the speaker, not from the earpiece, unless a headset is there.
        public static let defaultToSpeaker = CategoryOptions(rawValue: 0x8)
    }

    /// An output that overrides the route.
    public enum PortOverride: UInt, Sendable {
        /// No override; the speaker.
        case none = 0, speaker = 0x7370_6b72
    }

    private static let shared = AVAudioSession()

    /// The one session of the app.
    open class func sharedInstance() -> AVAudioSession { shared }

    /// The category.
    public private(set) var category = Category.playAndRecord
    /// The mode.
    public private(set) var mode = Mode.voiceChat
    /// The options of the category.
    public private(set) var categoryOptions: CategoryOptions = []

    /// Sets category, mode and options.
    open func setCategory(_ category: Category, mode: Mode, options: CategoryOptions = []) throws {
        (self.category, self.mode, categoryOptions) = (category, mode, options)
    }

    /// Overrides the output, until the route changes.
    open func overrideOutputAudioPort(_ portOverride: PortOverride) throws {}

    /// Activates or deactivates the session, in an app without CallKit.
    open func setActive(_ active: Bool) throws {}
}
