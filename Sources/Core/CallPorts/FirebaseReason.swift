/// The reasons of Firebase that have consequences, as ``PushResult`` has them.
///
/// Source: "ErrorCode", Firebase Cloud Messaging HTTP v1 API.
package enum FirebaseReason {
    /// 404: the app was removed, or its token was replaced.
    package static let unregistered = "UNREGISTERED"
    /// 400 that names the field `message.token`: the token is malformed.
    ///
    /// Firebase's own code is `INVALID_ARGUMENT`, as for any other fault of a message.
    package static let invalidToken = "INVALID_REGISTRATION_TOKEN"
    /// 401: Google accepts the access token, but the app's own credentials for APNs or Web Push are bad or missing.
    package static let thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    /// Ringline's own word: the response is that of the token endpoint, which gave no reason.
    package static let noAccessToken = "no_access_token"
    /// Ringline's own word: 401 with an access token that Google accepts for other devices.
    package static let refusedForDevice = "refused_for_device"
}
