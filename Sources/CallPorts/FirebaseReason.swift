/// The reasons of Firebase that have consequences, as ``PushResult`` has them.
///
/// Source: "ErrorCode", Firebase Cloud Messaging HTTP v1 API.
public enum FirebaseReason {
    /// 404: the app was removed, or its token was replaced.
    public static let unregistered = "UNREGISTERED"
    /// 400 that names the field `message.token`: the token is malformed.
    ///
    /// Firebase's own code is `INVALID_ARGUMENT`, as for any other fault of a message.
    public static let invalidToken = "INVALID_REGISTRATION_TOKEN"

    /// The reasons that make a token useless.
    public static let tokenIsBad: Set<String> = [unregistered, invalidToken]
}
