package import CallCore
package import CallPorts

extension PushKind {
    /// The service that carries the push.
    package var service: PushService {
        switch self {
        case .voip, .alert: .apns
        case .firebase: .firebase
        case .web: .web
        }
    }
}

/// The push services, and what people are told of them, in plain words.
extension PushService {
    /// All push services.
    package static let all = [apns, firebase, web]

    /// Apple's push service.
    package static let apns = made("APNs", [.voip, .alert]) {
        $0.isMissing("no APNs key is configured")
        $0.remedy = "start the server with --apns-key-file, --apns-key-id and --apns-team-id"
        $0.reasons = reasonsOfAPNs
        $0.wasPushed = "was pushed"
        $0.silence =
            "but the device never came back: it is off or without network, or iOS withholds pushes from an app "
            + "that did not report earlier calls."
        $0.testAccepted = "accepted the push; the device rings now if it is on and reachable"
        $0.owner = "Apple's"
    }

    /// Firebase Cloud Messaging.
    package static let firebase = made("Firebase", [.firebase]) {
        $0.isMissing("no Firebase service account is configured")
        $0.remedy = "start the server with --fcm-service-account-file"
        $0.shortcoming =
            "the Firebase token is stored, but this server has no Firebase service account and cannot push to it"
        $0.reasons = reasonsOfFirebase
        $0.wasPushed = "was sent a Firebase message"
        $0.silence =
            "but the device never came back: it is off or without network, or its user has force-stopped the app, "
            + "or Firebase has lowered the message's priority because earlier ones showed nothing."
        $0.testAccepted = "accepts the message and its token; it only checked them, so the device does not ring"
        $0.owner = "Firebase's"
    }

    /// The push services of browsers.
    package static let web = made("Web Push", [.web]) {
        $0.isMissing("no VAPID subject is configured")
        $0.remedy = "start the server with --vapid-subject"
        $0.shortcoming = "the subscription is stored, but this server has no VAPID subject and cannot push to it"
        // They use words of Apple's and Google's in another sense.
        $0.reasons = reasonsOfBrowsers
        $0.statuses = statusesOfBrowsers
        $0.wasPushed = "was sent a Web Push message"
        $0.silence =
            "but nobody opened the page: the browser is not running, the device is off or without network, or its user "
            + "did not see the notification."
        $0.testAccepted = "accepted the push; the browser shows a call now if it is running"
        $0.owner = "the push service's"
    }

    /// The advice when a push service cannot be reached, or does not respond.
    private static let checkNetwork = "check the network, the proxy, and whether the firewall allows port 443"

    private static func made(
        _ name: String,
        _ kinds: [PushKind],
        _ describe: (inout PushService) -> Void
    ) -> PushService {
        var service = PushService(name, kinds)
        service.network = checkNetwork
        service.notSent = "see the server's log"
        for fault in PushResult.Fault.allCases { service.faults[fault] = fault.remedy }
        describe(&service)
        return service
    }

    private mutating func isMissing(_ what: String) {
        notConfigured = what
        onlyLogged = what + ": pushes are only logged"
    }

    /// Source: "Handling notification responses from APNs", Apple Developer Documentation.
    private static let reasonsOfAPNs: [String: String] = [
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

    /// Sources: "ErrorCode", Firebase Cloud Messaging HTTP v1 API; "google.rpc.Code", Google API client libraries.
    private static let reasonsOfFirebase: [String: String] = [
        FirebaseReason.unregistered: "the app was removed or its token was replaced; the device must register again",
        FirebaseReason.invalidToken: "the Firebase token is malformed; the device must register again",
        "INVALID_ARGUMENT": "Firebase does not understand the message",
        "SENDER_ID_MISMATCH":
            "the token belongs to another Firebase project: the app's google-services.json and the service account must be of one project",
        "QUOTA_EXCEEDED": "too many messages to one device, or of the whole project, in a short time",
        "RESOURCE_EXHAUSTED": "too many messages of the whole project in a short time",
        "UNAVAILABLE": "Firebase is not available",
        "INTERNAL": "Firebase's server failed",
        FirebaseReason.thirdPartyAuthError:
            "the token belongs to an iOS app, which must register its APNs tokens, or to a browser, which must register its webPush subscription",
        "UNAUTHENTICATED": "Google rejects the access token of the service account",
        "PERMISSION_DENIED":
            "the service account may not send in this project, or the Firebase Cloud Messaging API is not enabled",
        "NOT_FOUND": "Firebase does not know the project of the service account",
        FirebaseReason.refusedForDevice:
            "Google refuses the access token for this device alone: the credentials of its app in the Firebase project may be bad; the device must register again",
        FirebaseReason.noAccessToken:
            "the response is the token endpoint's, and gives no reason: the service account's token_uri may be wrong, or a proxy may have answered",
        "invalid_grant": "the service account or its key was deleted, or this machine's clock is wrong",
    ]

    /// Source: "Sending web push notifications in web apps and browsers", Apple Developer Documentation.
    private static let reasonsOfBrowsers: [String: String] = [
        "BadJwtToken":
            "the push service refuses the VAPID token: --vapid-subject must be a real address, and this machine's clock must be right",
        "VapidPkHashMismatch":
            "the page has subscribed with another key: it must subscribe again with applicationServerKey",
    ]

    /// The meaning of the statuses of browsers' push services, which give few reasons.
    ///
    /// Sources: RFC 8030, section 7; RFC 8292, section 4.2.
    private static let statusesOfBrowsers: [(range: ClosedRange<Int>, meaning: String)] = [
        (300...399, "the push service redirects, and redirects are not followed"),
        (400...400, "the push service does not understand the message"),
        (401...401, refusedToken), (403...403, refusedToken),
        (404...404, endedSubscription), (410...410, endedSubscription),
        (413...413, "the push service finds the message too large"),
        (429...429, "too many messages to one browser in a short time"),
        (400...499, "the push service refuses the message; look the status up in its documentation"),
    ]
    private static let refusedToken =
        "the push service refuses the VAPID token: the page may have subscribed with another key, --vapid-subject must be a real address, and this machine's clock must be right"
    private static let endedSubscription = "the subscription has ended: the page must subscribe again"
}

extension PushResult.Fault {
    /// What can be done about it.
    package var remedy: String {
        switch self {
        case .hostNotAllowed: "start the server with --web-push-host for it, or let the page subscribe again"
        case .privateAddress: "name the host with its port in --web-push-host if it is a push service of yours"
        case .unusableKeys: "the page must subscribe again"
        }
    }
}
