package import CallCore

/// The identity of a client: the contents of a verified token or capability.
package struct Principal: Equatable, Sendable {
    /// The user.
    package var user: UserID
    /// A fingerprint that distinguishes the token from others.
    package var fingerprint: TokenFingerprint
    /// The user's displayed name; `nil` = the token has none.
    package var name: String?
    /// The device that the token names; `nil` = the token names none.
    package var device: DeviceID?
    /// The group rooms that the user may enter, by full name.
    package var rooms: Set<String>
    /// Whether the client is a service, which may act for any user.
    package var isService: Bool
    /// When the token expires; `nil` = the token does not say, or the client presented a capability.
    package var expiresAt: Moment?
    /// When the token was issued, to the second; `nil` = the token does not contain it.
    package var issuedAt: Moment?
    /// Whether the token writes the user as a JSON integer.
    package var userIsInteger: Bool

    /// The members of the token that the app's backend is told (`--decide-claims`), as the token has them: JSON, separated
    /// by commas.
    package var claims: [UInt8] = []
    /// The most bytes of ``claims``.
    package static let claimsBytes = 2_048

    /// The one call that the client may act in, if it has presented a push's capability and not a token.
    package var scope: CallScope?

    /// The identity from a token.
    package init(
        user: UserID,
        fingerprint: TokenFingerprint,
        name: String? = nil,
        device: DeviceID? = nil,
        rooms: Set<String> = [],
        isService: Bool = false,
        expiresAt: Moment? = nil,
        issuedAt: Moment? = nil,
        userIsInteger: Bool = false
    ) {
        self.user = user
        self.fingerprint = fingerprint
        self.name = name
        self.device = device
        self.rooms = rooms
        self.isService = isService
        self.expiresAt = expiresAt
        self.issuedAt = issuedAt
        self.userIsInteger = userIsInteger
    }

    /// The identity from a push's capability: one device of the user, in one epoch of one call.
    package init(user: UserID, scope: CallScope) {
        self.init(user: user, fingerprint: TokenFingerprint(rawValue: 0), device: scope.device)
        self.scope = scope
    }

    /// Whether a revocation of tokens issued up to a moment covers this token.
    ///
    /// A token without a moment of issue is covered, because it may have been issued at any time.
    @inlinable
    package func isRevoked(upTo moment: Moment) -> Bool { issuedAt.map { $0 <= moment } ?? true }

    /// Returns the device that a request comes from.
    ///
    /// It is the device of the capability, else the device that the request names (`device`), else the device that the
    /// token names, else the device that the token stands for.
    @inlinable
    package func deviceIdentity(named device: DeviceID?) -> DeviceIdentity {
        if let scope { return DeviceIdentity(id: scope.device, fingerprint: fingerprint) }
        if let id = device ?? self.device { return DeviceIdentity(id: id, fingerprint: fingerprint) }
        return DeviceIdentity(unnamed: fingerprint)
    }
}

/// The scope of a push's capability (protocol, section 6).
package struct CallScope: Equatable, Sendable {
    /// The call.
    package var call: CallID
    /// The epoch of the call.
    package var epoch: UInt32
    /// The other user of the call.
    package var peer: UserID
    /// The device that was pushed.
    package var device: DeviceID

    /// A scope with the given members.
    package init(call: CallID, epoch: UInt32, peer: UserID, device: DeviceID) {
        self.call = call
        self.epoch = epoch
        self.peer = peer
        self.device = device
    }
}
