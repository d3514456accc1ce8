public import Dispatch
public import Foundation

// The part of Apple's PushKit that RinglineCallKit uses, for compiling and testing it where there is no Apple SDK.
// Declarations as in https://developer.apple.com/documentation/pushkit; an optional method is one with a default here.

/// A kind of push.
public struct PKPushType: RawRepresentable, Hashable, Sendable {
    /// The type's name.
    public let rawValue: String
    /// Creates a type of a name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Pushes for calls.
    public static let voIP = PKPushType(rawValue: "PKPushTypeVoIP")
}

/// A push token.
open class PKPushCredentials: NSObject {
    /// The kind of push that the token is for.
    public let type: PKPushType
    /// The token.
    public let token: Data

    /// Creates credentials (of the stub; apps only get them).
    public init(type: PKPushType, token: Data) {
        self.type = type
        self.token = token
    }
}

/// A push that arrived.
open class PKPushPayload: NSObject {
    /// The kind of the push.
    public let type: PKPushType
    /// Its dictionary.
    public let dictionaryPayload: [AnyHashable: Any]

    /// Creates a push (of the stub; apps only get them).
    public init(type: PKPushType, dictionaryPayload: [AnyHashable: Any]) {
        self.type = type
        self.dictionaryPayload = dictionaryPayload
    }
}

/// What iOS 26.4 says about a push for a call.
open class PKVoIPPushMetadata: NSObject {
    /// Whether the app must report a call for this push.
    public let mustReport: Bool

    /// Creates the metadata of a push (of the stub; apps only get them).
    public init(mustReport: Bool) { self.mustReport = mustReport }
}

/// Takes tokens and pushes.
public protocol PKPushRegistryDelegate: NSObjectProtocol {
    /// There is a new token.
    func pushRegistry(
        _ registry: PKPushRegistry,
        didUpdate pushCredentials: PKPushCredentials,
        for type: PKPushType
    )
    /// The token is no longer valid; optional.
    func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType)
    /// A push arrived; optional.
    func pushRegistry(
        _ registry: PKPushRegistry,
        didReceiveIncomingPushWith payload: PKPushPayload,
        for type: PKPushType,
        completion: @escaping () -> Void
    )
    /// A push for a call arrived, from iOS 26.4; optional.
    func pushRegistry(
        _ registry: PKPushRegistry,
        didReceiveIncomingVoIPPushWith payload: PKPushPayload,
        metadata: PKVoIPPushMetadata,
        withCompletionHandler completion: @escaping @Sendable () -> Void
    )
}

extension PKPushRegistryDelegate {
    /// Does nothing, as if the method were absent.
    public func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) {}

    /// Does nothing, as if the method were absent.
    public func pushRegistry(
        _ registry: PKPushRegistry,
        didReceiveIncomingPushWith payload: PKPushPayload,
        for type: PKPushType,
        completion: @escaping () -> Void
    ) {}

    /// Does nothing, as if the method were absent.
    public func pushRegistry(
        _ registry: PKPushRegistry,
        didReceiveIncomingVoIPPushWith payload: PKPushPayload,
        metadata: PKVoIPPushMetadata,
        withCompletionHandler completion: @escaping @Sendable () -> Void
    ) {}
}

/// Registers the app for pushes.
open class PKPushRegistry: NSObject {
    /// Takes tokens and pushes, on the queue of the initializer.
    public weak var delegate: (any PKPushRegistryDelegate)?
    /// The kinds of pushes that the app wants.
    public var desiredPushTypes: Set<PKPushType>?
    /// The token that ``pushToken(for:)`` returns (of the stub).
    public var token: Data?

    /// Creates a registry whose delegate is called on that queue; `nil` = the main queue.
    public init(queue: DispatchQueue?) {}

    /// The last token; `nil` = there is none yet.
    open func pushToken(for type: PKPushType) -> Data? { token }
}
