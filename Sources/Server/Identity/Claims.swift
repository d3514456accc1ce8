package import CallCore

/// The content of a verified token: the user, and what the token says about that user.
package struct Claims: Sendable, Equatable {
    /// The user's id.
    package var user: UserID
    /// Whether the claim that names the user was a JSON integer.
    ///
    /// If so, responses in the app's formats return ids as integers (protocol, section 1.5).
    package var userIsInteger: Bool
    /// The display name (`name`, else `u`); nil if it is absent or empty.
    package var name: String?
    /// The device's id (`device`); nil if the token names no device.
    package var device: DeviceID?
    /// The full names of the group rooms that the user may join (`rooms`), such as `room:team`.
    package var rooms: [String]
    /// Whether the token is that of a service, which may act for any user (`scope` contains the word `server`).
    package var isService: Bool
    /// The end of the token's validity in seconds since 1970, without the leeway; nil if the token has no `exp`.
    ///
    /// It is at most 2^53, so that adding a leeway never overflows.
    package var expiresAtSeconds: Int64?
    /// When the token was issued, in seconds since 1970, rounded down; nil if `iat` is absent or is not a valid date.
    package var issuedAtSeconds: Int64?
    /// The fingerprint of the token: of its `jti`, or of its text if it has no `jti`.
    ///
    /// If neither the token nor the client names a device, the fingerprint forms the device's id in requests and
    /// Socket.IO sessions (protocol, section 1.3).
    package var fingerprint: TokenFingerprint
    /// The claims of ``TokenRules/toldClaims`` that the token has, in their order: members of a JSON object, separated by
    /// commas, without white space, and with the members of each object in them sorted.
    ///
    /// If they are longer than ``toldBytes``, they are left out, all of them: a part might mean something else.
    package var told: [UInt8] = []
    /// The most bytes of ``told``.
    package static let toldBytes = 2_048

    /// Creates claims without checking them, for tests and for users who are authenticated by other means than a token.
    package init(
        user: UserID,
        userIsInteger: Bool = false,
        name: String? = nil,
        device: DeviceID? = nil,
        rooms: [String] = [],
        isService: Bool = false,
        expiresAtSeconds: Int64? = nil,
        issuedAtSeconds: Int64? = nil,
        fingerprint: TokenFingerprint = TokenFingerprint(rawValue: 0)
    ) {
        self.user = user
        self.userIsInteger = userIsInteger
        self.name = name
        self.device = device
        self.rooms = rooms
        self.isService = isService
        self.expiresAtSeconds = expiresAtSeconds
        self.issuedAtSeconds = issuedAtSeconds
        self.fingerprint = fingerprint
    }
}
