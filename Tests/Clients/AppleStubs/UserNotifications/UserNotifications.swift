public import Foundation

// The part of Apple's UserNotifications that the page "Without CallKit" uses, for compiling it where there is no Apple SDK.
// Declarations as in https://developer.apple.com/documentation/usernotifications; nothing works.

/// A button of a notification.
open class UNNotificationAction: NSObject, @unchecked Sendable {
    // @unchecked: as Apple's class, which does not change.

    /// What the button does besides.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt
        /// Creates a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }
        /// The button works only when the device is unlocked.
        public static let authenticationRequired = Options(rawValue: 1)
        /// The button is red.
        public static let destructive = Options(rawValue: 2)
        /// The button opens the app.
        public static let foreground = Options(rawValue: 4)
    }

    /// Creates a button.
    public init(identifier: String, title: String, options: Options = []) {}
}

/// A kind of notification, with its buttons.
open class UNNotificationCategory: NSObject, @unchecked Sendable {
    // @unchecked: as Apple's class, which does not change.

    /// Further information for the app.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt
        /// Creates a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }
        /// The app is told that the user has dismissed the notification.
        public static let customDismissAction = Options(rawValue: 1)
    }

    /// Creates a kind of notification.
    public init(
        identifier: String,
        actions: [UNNotificationAction],
        intentIdentifiers: [String],
        options: Options = []
    ) {}
}

/// What a notification shows and carries.
open class UNNotificationContent: NSObject {
    /// The identifier of its kind.
    public var categoryIdentifier: String { "" }
    /// The payload of its push.
    public var userInfo: [AnyHashable: Any] { [:] }
}

/// The request that led to a notification.
open class UNNotificationRequest: NSObject {
    /// What it shows and carries.
    public var content: UNNotificationContent { UNNotificationContent() }
}

/// A notification.
open class UNNotification: NSObject {
    /// The request that led to it.
    public var request: UNNotificationRequest { UNNotificationRequest() }
}

/// What the user did with a notification.
open class UNNotificationResponse: NSObject {
    /// The button, or the default action.
    public var actionIdentifier: String { "" }
    /// The notification.
    public var notification: UNNotification { UNNotification() }
}

/// How a notification is shown while the app is in the foreground.
public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt
    /// Creates a set from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// With its sound.
    public static let sound = UNNotificationPresentationOptions(rawValue: 2)
    /// At the top of the screen.
    public static let banner = UNNotificationPresentationOptions(rawValue: 16)
}

/// What the user lets notifications do.
public struct UNAuthorizationOptions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt
    /// Creates a set from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// They sound.
    public static let sound = UNAuthorizationOptions(rawValue: 2)
    /// They are shown.
    public static let alert = UNAuthorizationOptions(rawValue: 4)
}

/// The notifications of the app.
open class UNUserNotificationCenter: NSObject, @unchecked Sendable {
    // @unchecked: as Apple's class, which may be used from every thread.

    private static let shared = UNUserNotificationCenter()
    /// The one object of the app.
    open class func current() -> UNUserNotificationCenter { shared }
    /// Takes what the user does with notifications.
    public weak var delegate: (any UNUserNotificationCenterDelegate)?
    /// Sets the kinds of notifications.
    open func setNotificationCategories(_ categories: Set<UNNotificationCategory>) {}
    /// Asks the user.
    open func requestAuthorization(
        options: UNAuthorizationOptions,
        completionHandler: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {}
}

/// Takes what the user does with notifications.
public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
    /// A notification has come while the app is in the foreground.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter,
        willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    )
    /// The user has acted on a notification.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter,
        didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
    )
}
