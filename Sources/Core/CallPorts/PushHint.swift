/// Explanations of the push services' reasons, in plain words for an operator.
///
/// Sources: "Handling notification responses from APNs" and "Sending web push notifications in web apps and browsers",
/// Apple Developer Documentation; "ErrorCode", Firebase Cloud Messaging HTTP v1 API; "google.rpc.Code", Google API client
/// libraries.
package enum PushHint {
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

    /// The meaning of the reasons of browsers' push services.
    private static let webTexts: [String: String] = [
        "BadJwtToken":
            "the push service refuses the VAPID token: --vapid-subject must be a real address, and this machine's clock must be right",
        "VapidPkHashMismatch":
            "the page has subscribed with another key: it must subscribe again with applicationServerKey",
    ]

    /// The meaning of the statuses of browsers' push services, which give few reasons.
    ///
    /// Sources: RFC 8030, section 7; RFC 8292, section 4.2.
    private static func webText(_ status: Int) -> String? {
        switch status {
        case 300...399: "the push service redirects, and redirects are not followed"
        case 400: "the push service does not understand the message"
        case 401, 403:
            "the push service refuses the VAPID token: the page may have subscribed with another key, --vapid-subject must be a real address, and this machine's clock must be right"
        case 404, 410: "the subscription has ended: the page must subscribe again"
        case 413: "the push service finds the message too large"
        case 429: "too many messages to one browser in a short time"
        case 400...499: "the push service refuses the message; look the status up in its documentation"
        default: nil
        }
    }

    /// Returns why a push of this kind was only logged.
    package static func notConfigured(_ kind: PushKind) -> String {
        switch kind {
        case .voip, .alert: "no APNs key is configured"
        case .firebase: "no Firebase service account is configured"
        case .web: "no VAPID subject is configured"
        }
    }

    /// Returns the reason that a timeline shows for a push of this kind that was only logged.
    package static func onlyLogged(_ kind: PushKind) -> String { notConfigured(kind) + ": pushes are only logged" }

    /// Returns what an operator can do about a push of this kind that was only logged.
    package static func remedy(_ kind: PushKind) -> String {
        switch kind {
        case .voip, .alert: "start the server with --apns-key-file, --apns-key-id and --apns-team-id"
        case .firebase: "start the server with --fcm-service-account-file"
        case .web: "start the server with --vapid-subject"
        }
    }

    /// Returns what an operator can do about a push of this kind that got no response, for this reason.
    package static func remedy(_ kind: PushKind, withoutResponse reason: String) -> String {
        if reason == onlyLogged(kind) { return remedy(kind) }
        return PushResult.Fault(rawValue: reason)?.remedy ?? network
    }

    /// The advice when a push service cannot be reached, or does not respond.
    package static let network = "check the network, the proxy, and whether the firewall allows port 443"

    /// Whether a reason is one that a push service is known to give.
    package static func knows(_ reason: String) -> Bool { texts[reason] != nil || webTexts[reason] != nil }

    /// Returns the meaning of a response to a push of this kind; `nil` = it needs no explanation, or is unknown.
    package static func text(forStatus status: Int, _ reason: String?, _ kind: PushKind) -> String? {
        guard !PushResult.isAcceptance(status) else { return nil }
        // Browsers' push services use words of Apple's and Google's in another sense.
        guard kind != .web else { return reason.flatMap { webTexts[$0] } ?? webText(status) }
        return reason.flatMap { texts[$0] }
    }

    /// Returns what the result of a push of this kind means, or what the operator can do about it; `nil` = the result
    /// needs no explanation, or its reason is unknown.
    package static func text(for result: PushResult, _ kind: PushKind) -> String? {
        switch result {
        case .response(let status, let reason, _), .deferred(let status, let reason, _):
            text(forStatus: status, reason, kind)
        case .unreachable: "\(kind.service) could not be reached: \(network)"
        case .notSent: "see the server's log"
        case .impossible(let fault): fault.remedy
        case .cancelled: nil
        case .onlyLogged: remedy(kind)
        }
    }
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
