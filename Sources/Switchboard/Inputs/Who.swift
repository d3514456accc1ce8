public import CallCore

/// Who asks: what a verified token says.
public struct Who: Equatable, Sendable {
    /// The user.
    public var user: UserID
    /// What tells this token from another.
    public var mark: TokenMark
    /// The user's name as it is shown.
    public var name: String?
    /// The device that the token names.
    public var device: DeviceID?
    /// The group rooms that the user may enter, by full name.
    public var rooms: Set<String>
    /// Whether it is a service, which may act for any user.
    public var isService: Bool
    /// Until when the token is valid.
    public var expiresAt: Moment?
    /// When the token was issued, to the second; `nil` = it does not say.
    public var issuedAt: Moment?
    /// Whether the token writes the user as a JSON integer.
    public var userIsInteger: Bool

    /// The one call that it is good for, where it is no token but a push's capability.
    public var scope: CallScope?

    /// A token's word.
    public init(
        user: UserID,
        mark: TokenMark,
        name: String? = nil,
        device: DeviceID? = nil,
        rooms: Set<String> = [],
        isService: Bool = false,
        expiresAt: Moment? = nil,
        issuedAt: Moment? = nil,
        userIsInteger: Bool = false
    ) {
        self.user = user
        self.mark = mark
        self.name = name
        self.device = device
        self.rooms = rooms
        self.isService = isService
        self.expiresAt = expiresAt
        self.issuedAt = issuedAt
        self.userIsInteger = userIsInteger
    }

    /// What a push's capability stands for: one device of the user, in one epoch of one call.
    public init(user: UserID, scope: CallScope) {
        self.init(user: user, mark: TokenMark(rawValue: 0), device: scope.device)
        self.scope = scope
    }

    /// Whether a revocation of what was issued up to a moment covers its token.
    ///
    /// A token that does not say when it was issued is covered: it may be any that the user ever had.
    public func isRevoked(before moment: Moment) -> Bool { issuedAt.map { $0 <= moment } ?? true }

    /// The phone that a request comes from: the named device, else the token itself.
    public func phone(named device: DeviceID?) -> Phone {
        if let scope { return Phone(id: scope.device, mark: mark) }
        if let id = device ?? self.device { return Phone(id: id, mark: mark) }
        return Phone(unnamed: mark)
    }
}

/// One connection of a device, as the gateway numbers them; never used twice.
public struct SessionID: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// The session with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// One request that awaits its reply, as the gateway numbers them; never used twice.
public struct RequestID: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// The request with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What a push's capability is good for (protocol, section 6).
public struct CallScope: Equatable, Sendable {
    /// The call.
    public var call: CallID
    /// Which use of its name.
    public var epoch: UInt32
    /// The user at the other end.
    public var peer: UserID
    /// The device that was pushed.
    public var device: DeviceID

    /// A scope of all its parts.
    public init(call: CallID, epoch: UInt32, peer: UserID, device: DeviceID) {
        self.call = call
        self.epoch = epoch
        self.peer = peer
        self.device = device
    }
}
