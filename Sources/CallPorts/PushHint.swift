/// Explanations of APNs' reasons, in plain words for an operator.
///
/// Source: "Handling notification responses from APNs", Apple Developer Documentation.
public enum PushHint {
    private static let texts: [String: String] = [
        "BadDeviceToken":
            "the token belongs to the other APNs environment or to another app: builds from Xcode have sandbox tokens",
        "Unregistered": "the app was deleted or its token was replaced; the device must register again",
        "ExpiredToken": "the token has expired; the device must register again",
        "DeviceTokenNotForTopic": "the token belongs to another app: register it with that app's bundleId",
        "TopicDisallowed": "the APNs key's team may not push to this bundle id",
        "MissingTopic": "the registration has no bundleId",
        "BadTopic": "Apple does not know the bundle id",
        "InvalidProviderToken": "the key id, the team id and the .p8 file do not belong together",
        "ExpiredProviderToken": "the server's clock is wrong",
        "MissingProviderToken": "the request had no provider token",
        "Forbidden": "the APNs key may not be used for this",
        "BadCertificateEnvironment": "the certificate is for the other environment",
        "PayloadTooLarge": "the payload is larger than Apple allows",
        "TooManyRequests": "too many pushes to one device in a short time",
        "TooManyProviderTokenUpdates": "the provider token is renewed too often; is another server using the same key?",
        "InternalServerError": "Apple's server failed",
        "ServiceUnavailable": "Apple's server is not available",
        "Shutdown": "Apple's server is shutting down",
        "BadMessageId": "the apns-id is invalid",
        "BadExpirationDate": "the apns-expiration is invalid",
        "BadPriority": "the apns-priority is invalid",
        "BadPath": "the path is invalid",
        "MethodNotAllowed": "the method is not POST",
        "IdleTimeout": "the connection was idle for too long",
        "InvalidPushType": "the push type does not fit the topic",
        "UnrelatedKeyIdInToken": "the provider token has another key id than earlier ones on this connection",
        "BadEnvironmentKeyIdInToken": "the APNs key is for the other environment",
    ]

    /// The reason that a timeline shows for a push when this server sends none.
    public static let onlyLogged = "no APNs key is configured: pushes are only logged"

    /// The advice when APNs cannot be reached, or does not respond.
    public static let network = "check the network, the proxy, and whether the firewall allows port 443"

    /// Whether ``text(forReason:)`` has a text for a reason.
    public static func knows(_ reason: String) -> Bool { texts[reason] != nil }

    /// Returns the meaning of APNs' reason; `nil` = there is no reason, or it is unknown.
    public static func text(forReason reason: String?) -> String? { reason.flatMap { texts[$0] } }

    /// Returns what a push's result means, or what the operator can do about it; `nil` = the result needs no
    /// explanation, or its reason is unknown.
    public static func text(for result: PushResult) -> String? {
        switch result {
        case .response(200, _, _): nil
        case .response(_, let reason, _): reason.flatMap { texts[$0] }
        case .unreachable: "APNs could not be reached: \(network)"
        case .cancelled: nil
        case .onlyLogged: "start the server with --apns-key-file, --apns-key-id and --apns-team-id"
        }
    }
}
