public import Foundation

// The part of Apple's Intents that RinglineCallKit uses, for compiling and testing it where there is no Apple SDK.
// Declarations as in https://developer.apple.com/documentation/intents, and Foundation's NSUserActivity, which Linux lacks.

/// What the user did elsewhere, and goes on with in the app.
open class NSUserActivity: NSObject {
    /// The kind of the activity.
    public let activityType: String
    /// The link, for an activity that came from a web page.
    public var webpageURL: URL?
    /// What Siri or the system asked for.
    public var interaction: INInteraction?
    /// Creates an activity.
    public init(activityType: String) { self.activityType = activityType }
}

/// The kind of an activity that came from a web page.
public let NSUserActivityTypeBrowsingWeb = "NSUserActivityTypeBrowsingWeb"

/// A request of the user.
open class INIntent: NSObject {}

/// A request that the app may handle.
open class INInteraction: NSObject {
    /// The request.
    public let intent: INIntent
    /// Creates an interaction.
    public init(intent: INIntent) { self.intent = intent }
}

/// The kind of an address.
public enum INPersonHandleType: Int, Sendable {
    /// As the names say.
    case unknown = 0, emailAddress, phoneNumber
}

/// Somebody's address.
open class INPersonHandle: NSObject {
    /// The address as text.
    public let value: String?
    /// Its kind.
    public let type: INPersonHandleType
    /// Creates a handle.
    public init(value: String?, type: INPersonHandleType = .unknown) { (self.value, self.type) = (value, type) }
}

/// Somebody.
open class INPerson: NSObject {
    /// The address.
    public let personHandle: INPersonHandle?
    /// Creates a person (of the stub; Apple's takes more).
    public init(personHandle: INPersonHandle) { self.personHandle = personHandle }
}

/// The media of a call.
public enum INCallCapability: Int, Sendable {
    /// As the names say.
    case unknown = 0, audioCall, videoCall
}

/// The request to call somebody.
open class INStartCallIntent: INIntent {
    /// Whom to call.
    public let contacts: [INPerson]?
    /// With pictures or without.
    public let callCapability: INCallCapability
    /// Creates a request (of the stub; Apple's takes more).
    public init(contacts: [INPerson]?, callCapability: INCallCapability) {
        self.contacts = contacts
        self.callCapability = callCapability
    }
}
