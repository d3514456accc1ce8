public import Foundation

// The part of Apple's UIKit that the pages of the kits use, for compiling them where there is no Apple SDK.
// Declarations as in https://developer.apple.com/documentation/uikit/uiapplication.

/// A part of the screen.
@MainActor
open class UIView: NSObject {}

/// The app.
@MainActor
open class UIApplication: NSObject {
    /// The reason for a launch.
    public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
        /// The reason's name.
        public let rawValue: String
        /// Creates a reason of a name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// Whether the user sees the app.
    public enum State: Int, Sendable {
        /// As the names say.
        case active, inactive, background
    }

    /// Whether the user sees the app.
    public private(set) var applicationState = State.active

    /// Asks for APNs' token.
    open func registerForRemoteNotifications() {}
}

/// Takes the events of the app.
@MainActor
public protocol UIApplicationDelegate: NSObjectProtocol {
    /// The app has been launched.
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    // Optional in Objective-C.
    /// APNs has issued a token.
    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)
}

// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension UIApplicationDelegate {
    public func application(
        _ application: UIApplication,
        didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {}
}
